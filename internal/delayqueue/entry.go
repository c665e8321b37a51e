// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import "time"

// state of an entry.
type state uint8

const (
	// planned entries are in the heap of deadlines.
	planned state = iota
	// waiting entries are due, and queue in their share.
	waiting
	// running entries are in no queue.
	running
)

// entry is a key. It is small, since there may be many thousands.
type entry[K comparable] struct {
	key        K
	at         time.Duration
	share      *share[K]
	prev, next *entry[K]
	slot       int32
	state      state
	// again: the key was Set while it ran. removed: it was removed while it ran. The entry stays
	// in either case, or a second run could start beside the first.
	again, removed bool
}

func (e *entry[K]) before(o *entry[K]) bool { return e.at < o.at }
func (e *entry[K]) moved(to int32)          { e.slot = to }

// share is a tenant: its due entries in the order in which they became due.
type share[K comparable] struct {
	name        string
	keys        int
	running     int
	first, last *entry[K]
	slot        int32
}

// before puts the share with the fewest running first, and then the one that waits longest.
func (s *share[K]) before(o *share[K]) bool {
	if s.running != o.running {
		return s.running < o.running
	}
	return s.first.at < o.first.at
}

func (s *share[K]) moved(to int32) { s.slot = to }

// reorder gives a share its place after the number of its running or its first entry changed. The
// lock is held.
func (s *share[K]) reorder(a *Agenda[K]) {
	switch {
	case s.first == nil && s.slot != none:
		a.waiting.remove(s.slot)
	case s.first != nil && s.slot == none:
		a.waiting.add(s)
	case s.first != nil:
		a.waiting.fix(s.slot)
	}
}

// shareOf returns the share, with one more key. The lock is held.
func (a *Agenda[K]) shareOf(name string) *share[K] {
	s, ok := a.shares[name]
	if !ok {
		s = &share[K]{name: name, slot: none}
		a.shares[name] = s
	}
	s.keys++
	return s
}

// wait queues an entry in its share. The lock is held.
func (a *Agenda[K]) wait(e *entry[K]) {
	s := e.share
	e.state, e.prev = waiting, s.last
	if s.last == nil {
		s.first = e
	} else {
		s.last.next = e
	}
	s.last = e
	s.reorder(a)
}

// unwait takes an entry out of its share's queue, wherever it stands in it. The lock is held.
func (a *Agenda[K]) unwait(e *entry[K]) {
	s := e.share
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
	e.prev, e.next, e.state = nil, nil, planned
	s.reorder(a)
}
