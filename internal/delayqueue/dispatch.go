// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"context"
	"time"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// advance starts what can start, and returns the time until the next key is due.
func (q *Queue[K]) advance(ctx context.Context) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	q.collectDue(now)
	q.dispatch(ctx, now)
	if len(q.delayed) == 0 {
		return 0, false
	}
	due := q.delayed[0].at
	if rest := due % wakeInterval; rest > 0 && due < never {
		due += wakeInterval - rest
	}
	return due - now, true
}

// never is so far away that rounding it up would overflow.
const never = time.Duration(1<<63-1) - wakeInterval

// collectDue moves due items to their tenants. The lock is held.
func (q *Queue[K]) collectDue(now time.Duration) {
	for len(q.delayed) > 0 && q.delayed[0].at <= now {
		e := q.delayed[0]
		q.delayed.remove(0)
		q.markReady(e)
	}
}

// dispatch starts workers until none may be started. The lock is held.
func (q *Queue[K]) dispatch(ctx context.Context, now time.Duration) {
	for e := q.next(ctx); e != nil; e = q.next(ctx) {
		late := now - e.at
		q.workers.Go(func() { panics.Go("delay queue", func() { q.work(ctx, e, late) }) })
	}
}

// next returns an item and counts it as running, or nil where none is ready or may start. The lock is held.
func (q *Queue[K]) next(ctx context.Context) *item[K] {
	if len(q.ready) == 0 || ctx.Err() != nil {
		return nil
	}
	s, free := q.ready[0], q.options.Workers-q.running
	if free <= 0 {
		return nil
	}
	// Tenants are in the order of their running workers: if the first may not start another, none may.
	if q.options.Tenant != nil && s.running > 0 && s.running+1 > free-1 {
		return nil
	}
	e := s.first
	q.unmarkReady(e)
	e.state = running
	s.running++
	q.running++
	s.reorder(q)
	return e
}

// work processes an item, and then others as long as any may start.
func (q *Queue[K]) work(ctx context.Context, e *item[K], late time.Duration) {
	for e != nil {
		q.options.Observe(max(late, 0))
		e, late = q.finish(ctx, e, q.process(ctx, e.key))
	}
}

// afterPanic is when a key whose processing panicked is due again.
const afterPanic = time.Minute

// process calls Process, and returns when the key is due next, also after a panic.
func (q *Queue[K]) process(ctx context.Context, key K) (next time.Time) {
	if panics.Try("delay queue", func() error { next = q.options.Process(ctx, key); return nil }) != nil {
		return time.Now().Add(afterPanic)
	}
	return next
}

// finish delays an item again or removes it, and returns the next one for the same worker.
func (q *Queue[K]) finish(ctx context.Context, e *item[K], next time.Time) (*item[K], time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.tenant.running--
	q.running--
	e.tenant.reorder(q)
	e.state = delayed
	switch {
	case e.requeued:
		e.requeued = false
		q.delay(e, e.at)
	case e.removed, next.IsZero():
		q.forget(e)
	default:
		q.delay(e, next.Sub(q.base))
	}
	now := q.now()
	q.collectDue(now)
	another := q.next(ctx)
	// More than one may start now: the tenant of this item may have another worker, and so may one
	// that waited for any.
	q.dispatch(ctx, now)
	if another == nil {
		return nil, 0
	}
	return another, now - another.at
}

// delay adds an item to the heap of deadlines, or moves it there. The lock is held.
func (q *Queue[K]) delay(e *item[K], at time.Duration) {
	e.at = at
	if e.index == noIndex {
		q.delayed.add(e)
	} else {
		q.delayed.fix(e.index)
	}
	if e.index != 0 {
		return
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// forget removes an item that is in no queue. The lock is held.
func (q *Queue[K]) forget(e *item[K]) {
	delete(q.keys, e.key)
	e.tenant.keys--
	if e.tenant.keys == 0 {
		delete(q.tenants, e.tenant.name)
	}
}
