// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"time"
)

// state is the state of an item.
type state uint8

const (
	// delayed items are in the heap of deadlines.
	delayed state = iota
	// ready items are due, and in the queue of their tenant.
	ready
	// running items are in no queue.
	running
)

// item is a key in the queue. It is small, since there may be many thousands.
type item[K comparable] struct {
	key        K
	at         time.Duration
	tenant     *tenant[K]
	prev, next *item[K]
	index      int32
	state      state
	// requeued: the key was set while running. removed: it was removed while running. The item is
	// kept in either case, or the key could be processed twice at once.
	requeued, removed bool
}

func (i *item[K]) before(o *item[K]) bool { return i.at < o.at }
func (i *item[K]) moved(to int32)         { i.index = to }

// tenant has the ready items of one tenant in the order in which they became due.
type tenant[K comparable] struct {
	name        string
	keys        int
	running     int
	first, last *item[K]
	index       int32
}

// before orders the tenant with the fewest workers first, and then the one that waits longest.
func (t *tenant[K]) before(o *tenant[K]) bool {
	if t.running != o.running {
		return t.running < o.running
	}
	return t.first.at < o.first.at
}

func (t *tenant[K]) moved(to int32) { t.index = to }

// reorder updates the position of a tenant after its workers or first item have changed. The lock is held.
func (t *tenant[K]) reorder(q *Queue[K]) {
	switch {
	case t.first == nil && t.index != noIndex:
		q.ready.remove(t.index)
	case t.first != nil && t.index == noIndex:
		q.ready.add(t)
	case t.first != nil:
		q.ready.fix(t.index)
	}
}

// acquireTenant returns the tenant, with one more key. The lock is held.
func (q *Queue[K]) acquireTenant(name string) *tenant[K] {
	s, ok := q.tenants[name]
	if !ok {
		s = &tenant[K]{name: name, index: noIndex}
		q.tenants[name] = s
	}
	s.keys++
	return s
}

// markReady adds an item to the queue of its tenant. The lock is held.
func (q *Queue[K]) markReady(e *item[K]) {
	s := e.tenant
	e.state, e.prev = ready, s.last
	if s.last == nil {
		s.first = e
	} else {
		s.last.next = e
	}
	s.last = e
	s.reorder(q)
}

// unmarkReady removes an item from the queue of its tenant. The lock is held.
func (q *Queue[K]) unmarkReady(e *item[K]) {
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
	s.reorder(q)
}
