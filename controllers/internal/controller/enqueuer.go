// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Enqueuer is a source of a controller, which hands it the queue. Its zero value is ready for use.
type Enqueuer struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Source returns the source for the controller to watch.
func (e *Enqueuer) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.queue = queue
		return nil
	})
}

// Enqueue has an object reconciled at once. The queue has each object once. Before there is a queue nothing
// is lost: the first reconcile reads the state that there is then.
func (e *Enqueuer) Enqueue(key types.NamespacedName) { e.EnqueueAfter(key, 0) }

// EnqueueAfter has an object reconciled after a time; the queue keeps the soonest that it is given.
func (e *Enqueuer) EnqueueAfter(key types.NamespacedName, wait time.Duration) {
	e.mu.Lock()
	queue := e.queue
	e.mu.Unlock()
	switch {
	case queue == nil:
	case wait <= 0:
		queue.Add(reconcile.Request{NamespacedName: key})
	default:
		queue.AddAfter(reconcile.Request{NamespacedName: key}, wait)
	}
}

// CoalescingInterval is the least time between two reconciles of an object because of events in its namespace, unless
// SetInterval is called: a rollout of a thousand pods is thousands of events.
const CoalescingInterval = time.Second

// CoalescingEnqueuer has objects reconciled because of something beside them.
type CoalescingEnqueuer struct {
	Enqueuer
	now func() time.Time

	mu sync.Mutex
	// last is when each object was last enqueued at once or its interval set.
	last      map[types.NamespacedName]time.Time
	intervals map[types.NamespacedName]time.Duration
}

// NewCoalescingEnqueuer returns one that reads this clock.
func NewCoalescingEnqueuer(now func() time.Time) *CoalescingEnqueuer {
	return &CoalescingEnqueuer{now: now, last: map[types.NamespacedName]time.Time{}, intervals: map[types.NamespacedName]time.Duration{}}
}

// SetInterval sets the least time from now, when the object is reconciled for whatever reason, until it is reconciled
// because of events in its namespace.
func (c *CoalescingEnqueuer) SetInterval(key types.NamespacedName, interval time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[key], c.intervals[key] = c.now(), interval
}

// EnqueueCoalesced enqueues an object because a workload or a pod has changed: at once after some quiet, and
// once at the end of each quiet time while they come in masses.
func (c *CoalescingEnqueuer) EnqueueCoalesced(key types.NamespacedName) {
	c.mu.Lock()
	now, interval := c.now(), cmp.Or(c.intervals[key], CoalescingInterval)
	wait := c.last[key].Add(interval).Sub(now)
	if wait <= 0 {
		c.last[key] = now
	}
	c.mu.Unlock()
	c.EnqueueAfter(key, min(wait, interval))
}

// Forget drops an object.
func (c *CoalescingEnqueuer) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, key)
	delete(c.intervals, key)
}

// Len returns how many objects have been enqueued and not forgotten.
func (c *CoalescingEnqueuer) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.last)
}
