// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/text"
)

// Bounds of what controllers write: in a burst, and per second in the long run.
const (
	objectBurst, objectRate       = 50, 1.0 / 20
	namespaceBurst, namespaceRate = 200, 1
	overallBurst, overallRate     = 500, 10
	// maxTracked is how many objects, and how many namespaces, have a bound of their own: those seen last.
	maxTracked = 4096
)

// boundedSink writes Events within bounds. The bound for each object is client-go's own, which only its
// older recorder applies.
type boundedSink struct {
	to      events.EventSink
	dropped prometheus.Counter

	mu                sync.Mutex // guards what follows
	object, namespace *record.EventSourceObjectSpamFilter
	overall           flowcontrol.PassiveRateLimiter
}

var _ events.EventSink = (*boundedSink)(nil)

func newSink(to events.EventSink, clock clock.PassiveClock) *boundedSink {
	return &boundedSink{
		to: to,
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_events_dropped_total",
			Help: "Events of the controllers that were not written since there were too many: of one object, in one namespace, or overall.",
		}),
		object: record.NewEventSourceObjectSpamFilter(maxTracked, objectBurst, objectRate, clock, func(e *corev1.Event) string {
			o := &e.InvolvedObject
			return strings.Join([]string{o.APIVersion, o.Kind, o.Namespace, o.Name, string(o.UID)}, "/")
		}),
		namespace: record.NewEventSourceObjectSpamFilter(maxTracked, namespaceBurst, namespaceRate, clock, func(e *corev1.Event) string {
			return e.InvolvedObject.Namespace
		}),
		overall: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(overallRate, overallBurst, clock),
	}
}

// allow reports whether one more write about an object is within the bounds.
func (s *boundedSink) allow(event *eventsv1.Event) bool {
	of := &corev1.Event{InvolvedObject: event.Regarding}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.object.Filter(of) || s.namespace.Filter(of) || !s.overall.TryAccept() {
		s.dropped.Inc()
		return false
	}
	return true
}

// Create writes an Event. A dropped one is returned as written: the recorder must not retry it. So is one in a
// namespace that is being deleted, which takes none.
func (s *boundedSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	event.Note = text.Truncate(event.Note, maxNote)
	if !s.allow(event) {
		return event, nil
	}
	written, err := s.to.Create(ctx, event)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return event, nil
	}
	return written, err
}

// Update is Create for an existing Event.
func (s *boundedSink) Update(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	if !s.allow(event) {
		return event, nil
	}
	return s.to.Update(ctx, event)
}

// Patch is Create for an Event that becomes a series.
func (s *boundedSink) Patch(ctx context.Context, event *eventsv1.Event, patch []byte) (*eventsv1.Event, error) {
	if !s.allow(event) {
		return event, nil
	}
	return s.to.Patch(ctx, event, patch)
}
