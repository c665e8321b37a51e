// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"sync"
)

// Suspicions say whether any Prober of this process suspects the process itself: what harms workloads is
// held then, whichever of them found out. Its zero value is ready for use. A nil one suspects nothing.
type Suspicions struct {
	mu          sync.Mutex
	suspecting  map[string]bool
	subscribers []func()
}

// OnSuspect returns an Options.OnSuspect for the Prober of a kind of object, which calls also as well.
func (s *Suspicions) OnSuspect(kind string, also func(suspect bool, cause string)) func(suspect bool, cause string) {
	return func(suspect bool, cause string) {
		for _, wake := range s.set(kind, suspect) {
			wake()
		}
		also(suspect, cause)
	}
}

// set returns what is to be called since Any has changed.
func (s *Suspicions) set(kind string, suspect bool) []func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := len(s.suspecting) > 0
	switch {
	case !suspect:
		delete(s.suspecting, kind)
	case s.suspecting == nil:
		s.suspecting = map[string]bool{kind: true}
	default:
		s.suspecting[kind] = true
	}
	if was == (len(s.suspecting) > 0) {
		return nil
	}
	return slices.Clone(s.subscribers)
}

// Any says whether some Prober suspects this process.
func (s *Suspicions) Any() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.suspecting) > 0
}

// Subscribe has wake called after every change of Any; it must not block.
func (s *Suspicions) Subscribe(wake func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, wake)
}
