// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delayqueue processes keys when they are due, as a delaying work queue does: with one timer for all
// keys, a bounded number of workers that exist only while there is work, and at most about half of the free
// workers for any one tenant, so that a tenant whose keys hang cannot starve the others.
//
// queue.go has the keys, item.go the queues of the tenants, dispatch.go starts workers, heap.go orders.
//
// It never processes a key twice at once, never holds more than one item for a key, and has no code for
// what processing does. A call of Process that ignores its context keeps Run from returning.
package delayqueue
