// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits of the API server on an Event, in bytes.
const (
	maxInstance = 128
	maxNote     = 1024
)

// Event is what an Event says. It must hold nothing of an object's values.
type Event struct {
	// Regarding is the object, with a name, and with a namespace unless ClusterScoped says that it has none.
	Regarding corev1.ObjectReference
	// ClusterScoped puts the Event into the namespace "default", as the API server demands.
	ClusterScoped bool
	// Reason and Action are words in CamelCase, Note is a sentence for people.
	Reason, Action, Note string
}

// dedupeKey is what one Event within a window is enough for.
type dedupeKey struct {
	kind, namespace, name, uid, reason string
}

func (n *Event) dedupeKey() dedupeKey {
	r := n.Regarding
	return dedupeKey{r.Kind, r.Namespace, r.Name, string(r.UID), n.Reason}
}

// namespace is where the Event belongs.
func (n *Event) namespace() string { return cmp.Or(n.Regarding.Namespace, metav1.NamespaceDefault) }

// object is the Event of a notice, named after its matter and the window.
func (n *Event) object(instance string, at time.Time, window time.Duration) *eventsv1.Event {
	m := n.dedupeKey()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d", []string{m.kind, m.namespace, m.name, m.uid, m.reason}, at.Truncate(window).Unix()))
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: n.namespace(), Name: strings.ToLower(m.kind) + "." + hex.EncodeToString(sum[:12]),
		},
		EventTime:           metav1.NewMicroTime(at),
		ReportingController: "fairlead.dev/manager",
		ReportingInstance:   Truncate(instance, maxInstance),
		Action:              n.Action,
		Reason:              n.Reason,
		Note:                Truncate(n.Note, maxNote),
		Type:                corev1.EventTypeWarning,
		Regarding:           n.Regarding,
	}
}

// Truncate returns text as valid UTF-8 of at most so many bytes, more than 3. What is cut off ends in three
// dots. The API server replaces what is not valid, and who compares the two would write for ever.
func Truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit-3], "") + "..."
	}
	return text
}
