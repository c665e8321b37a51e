// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
	"k8s.io/utils/clock"
)

// BroadcasterOptions of a Broadcaster.
type BroadcasterOptions struct {
	// Client writes Events. Required.
	Client eventsv1client.EventsV1Interface
	// Scheme has the kinds that Events are about. Required.
	Scheme *runtime.Scheme
	// Registerer registers the metric. Defaults to nil.
	Registerer prometheus.Registerer
}

// Broadcaster writes the Events of controllers. Repeats on one object become a series, with one write to the API server at its
// beginning and one at its end. Beyond bounds for each object, each namespace and overall, Events are counted and dropped.
type Broadcaster struct {
	events.EventBroadcaster
	scheme      *runtime.Scheme
	subscribers []func(*eventsv1.Event)
}

// NewBroadcaster returns a Broadcaster. Events are dropped before Run.
func NewBroadcaster(o BroadcasterOptions) (*Broadcaster, error) {
	bounded := newSink(&events.EventSinkImpl{Interface: o.Client}, clock.RealClock{})
	if o.Registerer != nil {
		if err := o.Registerer.Register(bounded.dropped); err != nil {
			return nil, err
		}
	}
	return &Broadcaster{EventBroadcaster: events.NewBroadcaster(bounded), scheme: o.Scheme}, nil
}

// Subscribe has a function called with each Event that is recorded, also with those beyond the bounds. It must not block, nor change
// the Event. It is called before Run.
func (b *Broadcaster) Subscribe(to func(*eventsv1.Event)) { b.subscribers = append(b.subscribers, to) }

// Run writes Events until ctx ends.
func (b *Broadcaster) Run(ctx context.Context) error {
	if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	for _, to := range b.subscribers {
		stop, err := b.StartEventWatcher(func(o runtime.Object) {
			if e, is := o.(*eventsv1.Event); is {
				to(e)
			}
		})
		if err != nil {
			return err
		}
		defer stop()
	}
	<-ctx.Done()
	b.Shutdown()
	return nil
}

// Recorder returns the recorder of a controller.
func (b *Broadcaster) Recorder(controller string) *ControllerRecorder {
	return &ControllerRecorder{to: b.NewRecorder(b.scheme, controller), scheme: b.scheme}
}

// ControllerRecorder records the Events of one controller. It is a controller-runtime recorder.EventRecorder.
type ControllerRecorder struct {
	to     events.EventRecorder
	scheme *runtime.Scheme
}

// Eventf records an Event. The resource versions of the objects are left out: client-go compares them
// when it looks for a series, and each write of a status changes them.
func (r *ControllerRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.to.Eventf(r.withoutResourceVersion(regarding), r.withoutResourceVersion(related), kind, reason, action, note, args...)
}

// AnnotatedEventf is Eventf; the annotations are left out.
func (r *ControllerRecorder) AnnotatedEventf(
	regarding, related runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any,
) {
	r.Eventf(regarding, related, kind, reason, action, note, args...)
}

// withoutResourceVersion returns a reference to an object without its resource version.
func (r *ControllerRecorder) withoutResourceVersion(object runtime.Object) runtime.Object {
	if object == nil {
		return nil
	}
	found, err := reference.GetReference(r.scheme, object)
	if err != nil {
		return object // the recorder fails the same way, and logs it
	}
	ref := *found
	ref.ResourceVersion = ""
	return &ref
}

// FieldReference returns a reference to a part of an object, so that Events on different parts of it are
// different series. The path is that of the part, such as spec.endpoints{primary}.
func FieldReference(scheme *runtime.Scheme, object runtime.Object, path string) runtime.Object {
	found, err := reference.GetReference(scheme, object)
	if err != nil {
		return object
	}
	ref := *found
	ref.FieldPath = path
	return &ref
}
