// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

var errWatchEnded = errors.New("the watch ended")

// injection is a change of the members with the events that follow from it.
type injection struct {
	kind   watch.EventType
	change func() []runtime.Object // is called with the filter's lock held, and returns the objects of the events
	done   chan struct{}
}

// filteredWatch passes the events of its source, and what is injected.
type filteredWatch struct {
	filter  *filter
	source  watch.Interface
	initial bool // the initial events have not ended

	result     chan watch.Event
	injections chan injection
	stop       sync.Once
	done       chan struct{} // closed to end it
	ended      chan struct{}
}

// ResultChan returns the events.
func (w *filteredWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop ends the watch. It may be called more than once.
func (w *filteredWatch) Stop() { w.stop.Do(func() { close(w.done) }) }

func (w *filteredWatch) run() {
	for {
		select {
		case event, ok := <-w.source.ResultChan():
			if !ok || !w.forward(event) {
				return
			}
		case i := <-w.injections:
			if !w.forwardInjection(i) {
				return
			}
		case <-w.done:
			return
		}
	}
}

func (w *filteredWatch) send(event watch.Event) bool {
	select {
	case w.result <- event:
		return true
	case <-w.done:
		return false
	}
}

// forward passes an event on, and reports whether the watch continues.
func (w *filteredWatch) forward(event watch.Event) bool {
	passes := event.Type == watch.Bookmark || event.Type == watch.Error || w.filter.passes(event.Object)
	if passes && !w.send(event) {
		return false
	}
	if event.Type == watch.Error {
		return true
	}
	accessor, err := meta.Accessor(event.Object)
	if err != nil {
		return true
	}
	if event.Type == watch.Bookmark && accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		w.initial = false
	}
	if !w.initial { // initial events come in the order of names
		w.filter.setPosition(accessor.GetResourceVersion())
	}
	return true
}

// forwardInjection passes injected events on, and after them the position of the watch, since the reflector
// takes the resource version of each event for that.
func (w *filteredWatch) forwardInjection(i injection) bool {
	w.filter.mu.Lock()
	objects, position := i.change(), w.filter.position
	w.filter.mu.Unlock()
	for _, object := range objects {
		if !w.send(watch.Event{Type: i.kind, Object: object}) {
			return false
		}
	}
	if position != "" && len(objects) > 0 {
		bookmark := w.filter.example.DeepCopyObject()
		accessor, err := meta.Accessor(bookmark)
		if err != nil {
			return false
		}
		accessor.SetResourceVersion(position)
		if !w.send(watch.Event{Type: watch.Bookmark, Object: bookmark}) {
			return false
		}
	}
	close(i.done)
	return true
}

// inject returns when the reflector has received the events, or errWatchEnded where some may be lost.
func (w *filteredWatch) inject(ctx context.Context, kind watch.EventType, change func() []runtime.Object) error {
	i := injection{kind: kind, change: change, done: make(chan struct{})}
	select {
	case w.injections <- i:
	case <-w.ended:
		return errWatchEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-i.done:
		return nil
	case <-w.ended:
		return errWatchEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
