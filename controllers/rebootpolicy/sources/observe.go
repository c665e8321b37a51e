// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// Observe returns the state of each of wants, in their order. It reads from the API server what may have changed since
// the last read for any owner; without a watch, what was read more than half an interval ago.
//
// wants must be all that the owner observes: from now on it is notified of changes of these sources, and of the
// selectors that it passed to Select since its previous Observe, and of nothing else.
//
// The error is that of ctx. Other errors are in the State of their source, and the owner is notified again after an
// interval.
func (s *Sources) Observe(ctx context.Context, by types.NamespacedName, wants []Want) ([]State, error) {
	s.setViews(by, wants)
	read := make(map[Ref]struct{}, len(wants))
	for i := range wants {
		ref := wants[i].Ref
		if _, ok := read[ref]; ok {
			continue
		}
		read[ref] = struct{}{}
		if err := s.refresh(ctx, ref); err != nil {
			return nil, err
		}
	}
	states, again := s.states(wants)
	if again {
		s.queue.Set(by, time.Now().Add(s.options.Interval))
	}
	return states, nil
}

// refresh reads a source if its state may be out of date. One read of a source runs at a time, so that a later one is
// not overwritten by an earlier.
func (s *Sources) refresh(ctx context.Context, ref Ref) error {
	for {
		s.mu.Lock()
		o := s.objects[ref]
		if o == nil || o.reading == nil && s.isCurrent(o) {
			s.mu.Unlock()
			return nil
		}
		if busy := o.reading; busy != nil {
			s.mu.Unlock()
			select {
			case <-busy:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		done := make(chan struct{})
		o.reading, o.stale, o.eventVersion, o.lastEvent = done, false, "", noEvent
		wants := o.wants(ref)
		s.mu.Unlock()
		return s.readOnce(ctx, ref, o, wants, done)
	}
}

// errShown is a source that a read did not find and that the watch shows. Either it was deleted a moment ago, and an event
// will say so, or the reply was not the API server's: a proxy that has lost it replies with 404 to everything. Taking
// that for a deletion would make what comes back the baseline.
var errShown = errors.New("a read did not find the object, and the watch shows it")

// readOnce reads a source for all that wait for it. However it ends, they continue: a source is untrusted input, and a
// panic in a parser must not block every later Observe.
func (s *Sources) readOnce(ctx context.Context, ref Ref, o *object, wants map[viewKey]Want, done chan struct{}) error {
	var found *content
	var failed error
	var shown bool
	var results map[viewKey]viewResult
	broken := panics.Try("sources", func() error {
		if ref.Kind == autorebootv1.SourceSecretProviderClass {
			found, failed = s.readMounts(ctx, ref)
			shown = failed == nil
		} else {
			found, failed = s.reader.read(ctx, ref)
			s.metrics.read(ref.Kind, failed)
			if shown = (failed == nil || apierrors.IsNotFound(failed)) && s.isInWatch(ctx, ref); shown && failed != nil {
				failed = errShown
			}
		}
		results = s.evaluate(found, wants)
		return nil
	})
	now := s.options.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case broken != nil:
		o.recordRead(nil, broken, false, nil, now)
	case ctx.Err() != nil:
		o.stale = true // says nothing about the source
	default:
		o.recordRead(found, failed, shown, results, now)
	}
	o.reading = nil
	close(done)
	return ctx.Err()
}

// isCurrent reports whether the state of a source needs no read. The lock is held.
func (s *Sources) isCurrent(o *object) bool {
	recent := !o.readAt.IsZero() && s.options.Now().Sub(o.readAt) < s.interval()/2
	switch {
	case o.kind == autorebootv1.SourceSecretProviderClass: // its events arrive in either mode
		return !o.stale && o.isComplete() && o.unknown == ""
	case o.unknown == autorebootv1.ReasonForbidden: // no event says when it ends
		return recent
	case o.stale || !o.isComplete():
		return false
	default:
		return s.watched && !o.notInWatch || recent
	}
}

// isInWatch reports whether the watch has shown a source, at whatever version.
func (s *Sources) isInWatch(ctx context.Context, ref Ref) bool {
	s.mu.Lock()
	watched := s.watched
	s.mu.Unlock()
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	return watched && s.options.Cache.Get(ctx, key, partialObject(ref.Kind)) == nil
}

// states returns the states, and whether the owner is to observe again without a change.
func (s *Sources) states(wants []Want) (states []State, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states = make([]State, len(wants))
	for i := range wants {
		o := s.objects[wants[i].Ref]
		if o == nil {
			states[i] = State{Unknown: autorebootv1.ReasonTooManySources}
			again = true
			continue
		}
		states[i] = o.state(viewOf(&wants[i]))
		states[i].Watched = s.watched && !o.stale && !o.notInWatch && states[i].Unknown == "" && !states[i].Missing
		again = again || o.unknown != "" || o.notInWatch
	}
	return states, again && s.watched
}
