// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"time"
)

// state of an entry.
type state uint8

const (
	// delayed entries are in the heap of deadlines.
	delayed state = iota
	// ready entries are due, and queue in their share.
	ready
	// running entries are in no queue.
	running
)

// item is a key. It is small, since there may be many thousands.
type item[K comparable] struct {
	key        K
	at         time.Duration
	tenant     *tenant[K]
	prev, next *item[K]
	index      int32
	state      state
	// requeued: the key was Set while it ran. removed: it was removed while it ran. The entry stays
	// in either case, or a second run could start beside the first.
	requeued, removed bool
}

func (e *item[K]) before(o *item[K]) bool { return e.at < o.at }
func (e *item[K]) moved(to int32)         { e.index = to }

// tenant is a tenant: its due entries in the order in which they became due.
type tenant[K comparable] struct {
	name        string
	keys        int
	running     int
	first, last *item[K]
	index       int32
}

// before puts the share with the fewest running first, and then the one that waits longest.
func (s *tenant[K]) before(o *tenant[K]) bool {
	if s.running != o.running {
		return s.running < o.running
	}
	return s.first.at < o.first.at
}

func (s *tenant[K]) moved(to int32) { s.index = to }

// reorder gives a share its place after the number of its running or its first entry changed. The
// lock is held.
func (s *tenant[K]) reorder(a *Queue[K]) {
	switch {
	case s.first == nil && s.index != noIndex:
		a.ready.remove(s.index)
	case s.first != nil && s.index == noIndex:
		a.ready.add(s)
	case s.first != nil:
		a.ready.fix(s.index)
	}
}

// acquireTenant returns the share, with one more key. The lock is held.
func (a *Queue[K]) acquireTenant(name string) *tenant[K] {
	s, ok := a.tenants[name]
	if !ok {
		s = &tenant[K]{name: name, index: noIndex}
		a.tenants[name] = s
	}
	s.keys++
	return s
}

// markReady queues an entry in its share. The lock is held.
func (a *Queue[K]) markReady(e *item[K]) {
	s := e.tenant
	e.state, e.prev = ready, s.last
	if s.last == nil {
		s.first = e
	} else {
		s.last.next = e
	}
	s.last = e
	s.reorder(a)
}

// unmarkReady takes an entry out of its share's queue, wherever it stands in it. The lock is held.
func (a *Queue[K]) unmarkReady(e *item[K]) {
	s := e.tenant
	if e.prev == nil {
		s.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		s.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next, e.state = nil, nil, delayed
	s.reorder(a)
}
