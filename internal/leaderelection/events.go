// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// announceTimeout bounds an announcement, and thus how long it can delay a shutdown.
const announceTimeout = 2 * time.Second

// Announcer reports that a replica begins or stops leading.
type Announcer func(ctx context.Context, lease *coordinationv1.Lease, reason, note string)

// RecordEvent announces what client-go reports of this replica: "became leader" or "stopped leading".
func (l *Lock) RecordEvent(what string) {
	reason, note := common.EventLeaderElected, l.options.Identity+" leads"
	if what != "became leader" {
		reason, note = common.EventLeaderStopped, l.options.Identity+" stopped leading"
	}
	lease := l.seen
	if l.options.Announce == nil {
		return
	}
	l.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		defer cancel()
		panics.Go("election", func() { l.options.Announce(ctx, lease, reason, note) })
	})
}

// Events returns an Announcer that writes an Event on the Lease, related to the Pod if there is one. It only logs a
// failure, which must not cost a replica the election.
func Events(client eventsv1client.EventsGetter, identity, pod string, logger logr.Logger) Announcer {
	return func(ctx context.Context, lease *coordinationv1.Lease, reason, note string) {
		event := &eventsv1.Event{
			ObjectMeta:          metav1.ObjectMeta{Namespace: lease.Namespace, GenerateName: lease.Name + "-"},
			EventTime:           metav1.NowMicro(),
			ReportingController: "fairlead.dev/manager",
			ReportingInstance:   text.Truncate(identity, 128),
			Action:              "Elect",
			Reason:              reason,
			Note:                text.Truncate(note, 1024),
			Type:                corev1.EventTypeNormal,
			Regarding: corev1.ObjectReference{
				APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease",
				Namespace: lease.Namespace, Name: lease.Name, UID: lease.UID,
			},
		}
		if pod != "" {
			event.Related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: lease.Namespace, Name: pod}
		}
		if _, err := client.Events(lease.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
			logger.Error(err, "cannot write an Event about the election", "reason", reason)
		}
	}
}
