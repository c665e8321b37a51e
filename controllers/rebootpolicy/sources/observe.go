// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// Observe returns what each of wants holds, in their order. It reads live what may have changed since
// it was read last, which any other owner may have caused; where nothing is watched, what was read
// more than half an interval ago.
//
// wants must be all that the owner observes: from now on it is notified of changes of these sources,
// and of the selectors it has passed to Select since its Observe before, and of nothing else.
//
// The error is that of ctx. Whatever else goes wrong is in the State it concerns, and the owner is
// notified again after an interval.
func (s *Sources) Observe(ctx context.Context, by types.NamespacedName, wants []Want) ([]State, error) {
	s.setViews(by, wants)
	asked := make(map[Ref]struct{}, len(wants))
	for i := range wants {
		ref := wants[i].Ref
		if _, ok := asked[ref]; ok {
			continue
		}
		asked[ref] = struct{}{}
		if err := s.refresh(ctx, ref); err != nil {
			return nil, err
		}
	}
	states, again := s.states(wants)
	if again {
		s.queue.Set(by, time.Now().Add(s.Interval))
	}
	return states, nil
}

// refresh reads a source if what is remembered may be out of date. One read of a source is under way
// at a time, so that a later one cannot be overwritten by an earlier.
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

// readOnce reads a source for all that wait for it. However it ends, they go on: a source is parsed as
// strangers wrote it, and what panics there must not block every later Observe.
func (s *Sources) readOnce(ctx context.Context, ref Ref, o *object, wants map[viewKey]Want, done chan struct{}) error {
	var found *content
	var failed error
	var shown bool
	var looks map[viewKey]viewResult
	broken := panics.Try("sources", func() error {
		found, failed = s.reader.read(ctx, ref)
		s.metrics.read(ref.Kind, failed)
		shown = failed == nil && s.isInWatch(ctx, ref)
		looks = s.evaluate(found, wants)
		return nil
	})
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case broken != nil:
		o.recordRead(nil, broken, false, nil, now)
	case ctx.Err() != nil:
		o.stale = true // says nothing about the source
	default:
		o.recordRead(found, failed, shown, looks, now)
	}
	o.reading = nil
	close(done)
	return ctx.Err()
}

// isCurrent says whether what is remembered of a source still stands. The lock is held.
func (s *Sources) isCurrent(o *object) bool {
	recent := !o.readAt.IsZero() && s.Now().Sub(o.readAt) < s.Interval/2
	switch {
	case o.unknown == Forbidden: // no event says when it ends
		return recent
	case o.stale || !o.isComplete():
		return false
	default:
		return s.watched && !o.notInWatch || recent
	}
}

// isInWatch says whether the watch has shown a source, at whatever version.
func (s *Sources) isInWatch(ctx context.Context, ref Ref) bool {
	s.mu.Lock()
	watched := s.watched
	s.mu.Unlock()
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	return watched && s.Cache.Get(ctx, key, partialObject(ref.Kind)) == nil
}

// states returns what is remembered, and whether the owner should ask again though nothing changes.
func (s *Sources) states(wants []Want) (states []State, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states = make([]State, len(wants))
	for i := range wants {
		o := s.objects[wants[i].Ref]
		if o == nil {
			states[i] = State{Unknown: TooManySources}
			again = true
			continue
		}
		states[i] = o.state(viewOf(&wants[i]))
		states[i].Watched = s.watched && !o.stale && !o.notInWatch && states[i].Unknown == "" && !states[i].Missing
		again = again || o.unknown != "" || o.notInWatch
	}
	return states, again && s.watched
}
