// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// States holds what a controller keeps about each object in memory. An object is reconciled
// once at a time, so that its state needs no lock. The zero value is ready for use.
type States[S any] struct {
	mu  sync.Mutex
	all map[types.NamespacedName]objectState[S]
}

type objectState[S any] struct {
	uid   types.UID
	state *S
}

// Get returns the state of an object. It is zero at first, and after an object of another UID took the name.
func (s *States[S]) Get(object client.Object) *S {
	key := client.ObjectKeyFromObject(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.all[key]
	if ok && known.uid == object.GetUID() {
		return known.state
	}
	if s.all == nil {
		s.all = map[types.NamespacedName]objectState[S]{}
	}
	state := new(S)
	s.all[key] = objectState[S]{object.GetUID(), state}
	return state
}

// Forget drops the state of an object.
func (s *States[S]) Forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}

// Keys returns the objects that have a state.
func (s *States[S]) Keys() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}

// Len returns how many objects have a state.
func (s *States[S]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

const (
	// refusalBackoff is the wait after an action that was forbidden. It doubles up to maxRefusalBackoff, within which
	// what was allowed meanwhile is done.
	refusalBackoff    = 10 * time.Second
	maxRefusalBackoff = time.Minute
)

// Refusal is an action that was forbidden. It is repeated after a backoff only: no event says when it becomes
// allowed. The zero value is none.
type Refusal struct {
	Until   time.Time
	Message string
	tries   int
}

// Record extends the backoff after the action was forbidden once more.
func (r *Refusal) Record(now time.Time, message string) {
	r.Until = now.Add(min(refusalBackoff<<r.tries, maxRefusalBackoff))
	r.tries = min(r.tries+1, 10)
	r.Message = message
}
