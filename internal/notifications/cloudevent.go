// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package notifications

import (
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// contentType of one event in the structured mode.
const contentType = "application/cloudevents+json"

// cloudEvent has the attributes of https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md.
type cloudEvent struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject,omitempty"`
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype"`
	Data            data   `json:"data"`
}

// data is the payload of a CloudEvent: the fields of an Event.
type data struct {
	Type       string     `json:"type"` // Normal or Warning
	Reason     string     `json:"reason"`
	Action     string     `json:"action,omitempty"`
	Message    string     `json:"message"`
	Controller string     `json:"controller,omitempty"`
	Regarding  reference  `json:"regarding"`
	Related    *reference `json:"related,omitempty"`
}

type reference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	UID        string `json:"uid,omitempty"`
}

func referenceTo(o *corev1.ObjectReference) reference {
	return reference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)}
}

// encode returns an Event as a CloudEvent. The ID is the same whenever the same Event is sent; with the source it is unique. The type
// has the group of the object in reverse, its kind and the reason, such as dev.fairlead.autoreboot.RebootPolicy.RestartFailed.
func encode(e *eventsv1.Event, source string) ([]byte, error) {
	group := schema.FromAPIVersionAndKind(e.Regarding.APIVersion, e.Regarding.Kind).Group
	labels := strings.Split(group, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	at := e.EventTime.Time
	if at.IsZero() {
		at = e.CreationTimestamp.Time
	}
	of := cloudEvent{
		SpecVersion: "1.0", ID: e.Namespace + "/" + e.Name, Source: source,
		Type:    strings.TrimPrefix(strings.Join(append(labels, e.Regarding.Kind, e.Reason), "."), "."),
		Subject: strings.ToLower(e.Regarding.Kind) + "/" + strings.TrimPrefix(e.Regarding.Namespace+"/"+e.Regarding.Name, "/"),
		Time:    at.UTC().Format(time.RFC3339Nano), DataContentType: "application/json",
		Data: data{
			Type: e.Type, Reason: e.Reason, Action: e.Action, Message: e.Note, Controller: e.ReportingController,
			Regarding: referenceTo(&e.Regarding),
		},
	}
	if e.Related != nil {
		related := referenceTo(e.Related)
		of.Data.Related = &related
	}
	return json.Marshal(of)
}
