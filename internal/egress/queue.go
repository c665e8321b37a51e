// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// maxQueued bounds the addresses of a queue. Where more pods come and go at a time, all objects are looked at.
const maxQueued = 4096

// addressQueue collects addresses until they are taken.
type addressQueue struct {
	// filled has an element while there is something to take.
	filled chan struct{}

	mu        sync.Mutex
	addresses map[netip.Addr]bool
	isFull    bool
}

func newAddressQueue() *addressQueue {
	return &addressQueue{filled: make(chan struct{}, 1), addresses: map[netip.Addr]bool{}}
}

// add never blocks.
func (q *addressQueue) add(ip netip.Addr) {
	q.mu.Lock()
	if len(q.addresses) < maxQueued {
		q.addresses[ip] = true
	} else {
		q.isFull = true
	}
	q.mu.Unlock()
	select {
	case q.filled <- struct{}{}:
	default: // it will be taken anyway
	}
}

// take returns the addresses, and whether there were more.
func (q *addressQueue) take() (addresses []netip.Addr, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	addresses, more = slices.Collect(maps.Keys(q.addresses)), q.isFull
	q.addresses, q.isFull = map[netip.Addr]bool{}, false
	return addresses, more
}
