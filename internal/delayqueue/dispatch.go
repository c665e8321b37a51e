// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"context"
	"time"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// advance starts what can start, and says how long until a key is due.
func (a *Queue[K]) advance(ctx context.Context) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	a.collectDue(now)
	a.dispatch(ctx, now)
	if len(a.delayed) == 0 {
		return 0, false
	}
	due := a.delayed[0].at
	if rest := due % wakeInterval; rest > 0 && due < never {
		due += wakeInterval - rest
	}
	return due - now, true
}

// never is far enough away that rounding it up would overflow, or nearly.
const never = time.Duration(1<<63-1) - wakeInterval

// collectDue moves what is due to its share. The lock is held.
func (a *Queue[K]) collectDue(now time.Duration) {
	for len(a.delayed) > 0 && a.delayed[0].at <= now {
		e := a.delayed[0]
		a.delayed.remove(0)
		a.markReady(e)
	}
}

// dispatch starts workers while any share may have one. The lock is held.
func (a *Queue[K]) dispatch(ctx context.Context, now time.Duration) {
	for e := a.next(ctx); e != nil; e = a.next(ctx) {
		late := now - e.at
		a.workers.Go(func() { panics.Go("agenda", func() { a.work(ctx, e, late) }) })
	}
}

// next returns an entry that now counts as running, or nil where nothing waits or may start. The
// lock is held.
func (a *Queue[K]) next(ctx context.Context) *item[K] {
	if len(a.ready) == 0 || ctx.Err() != nil {
		return nil
	}
	s, free := a.ready[0], a.Workers-a.running
	if free <= 0 {
		return nil
	}
	// The first share has the fewest running: where it may not have more, none may.
	if a.Tenant != nil && s.running > 0 && s.running+1 > free-1 {
		return nil
	}
	e := s.first
	a.unmarkReady(e)
	e.state = running
	s.running++
	a.running++
	s.reorder(a)
	return e
}

// work runs an entry, and then others for as long as there are any to start.
func (a *Queue[K]) work(ctx context.Context, e *item[K], late time.Duration) {
	for e != nil {
		a.Observe(max(late, 0))
		e, late = a.finish(ctx, e, a.process(ctx, e.key))
	}
}

// afterPanic is when a key whose run has panicked is due again: it must be neither lost nor run without end.
const afterPanic = time.Minute

// process runs a key, and returns when it is due next, also where it panics.
func (a *Queue[K]) process(ctx context.Context, key K) (next time.Time) {
	if panics.Try("agenda", func() error { next = a.Process(ctx, key); return nil }) != nil {
		return time.Now().Add(afterPanic)
	}
	return next
}

// finish plans an entry again or drops it, and returns the next one for the same worker.
func (a *Queue[K]) finish(ctx context.Context, e *item[K], next time.Time) (*item[K], time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.tenant.running--
	a.running--
	e.tenant.reorder(a)
	e.state = delayed
	switch {
	case e.requeued:
		e.requeued = false
		a.delay(e, e.at)
	case e.removed, next.IsZero():
		a.forget(e)
	default:
		a.delay(e, next.Sub(a.base))
	}
	now := a.now()
	a.collectDue(now)
	another := a.next(ctx)
	// More than one may start now: the share of this entry may have another worker, and so may one
	// that only waited for any.
	a.dispatch(ctx, now)
	if another == nil {
		return nil, 0
	}
	return another, now - another.at
}

// delay puts an entry among those to come, or moves it there. The lock is held.
func (a *Queue[K]) delay(e *item[K], at time.Duration) {
	e.at = at
	if e.index == noIndex {
		a.delayed.add(e)
	} else {
		a.delayed.fix(e.index)
	}
	if e.index != 0 {
		return
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// forget forgets an entry that is in no queue. The lock is held.
func (a *Queue[K]) forget(e *item[K]) {
	delete(a.keys, e.key)
	e.tenant.keys--
	if e.tenant.keys == 0 {
		delete(a.tenants, e.tenant.name)
	}
}
