// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"context"
	"time"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// advance starts what can start, and says how long until a key is due.
func (a *Agenda[K]) advance(ctx context.Context) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	a.collect(now)
	a.dispatch(ctx, now)
	if len(a.planned) == 0 {
		return 0, false
	}
	due := a.planned[0].at
	if rest := due % grain; rest > 0 && due < never {
		due += grain - rest
	}
	return due - now, true
}

// never is far enough away that rounding it up would overflow, or nearly.
const never = time.Duration(1<<63-1) - grain

// collect moves what is due to its share. The lock is held.
func (a *Agenda[K]) collect(now time.Duration) {
	for len(a.planned) > 0 && a.planned[0].at <= now {
		e := a.planned[0]
		a.planned.remove(0)
		a.wait(e)
	}
}

// dispatch starts workers while any share may have one. The lock is held.
func (a *Agenda[K]) dispatch(ctx context.Context, now time.Duration) {
	for e := a.take(ctx); e != nil; e = a.take(ctx) {
		late := now - e.at
		a.workers.Go(func() { panics.Go("agenda", func() { a.work(ctx, e, late) }) })
	}
}

// take returns an entry that now counts as running, or nil where nothing waits or may start. The
// lock is held.
func (a *Agenda[K]) take(ctx context.Context) *entry[K] {
	if len(a.waiting) == 0 || ctx.Err() != nil {
		return nil
	}
	s, free := a.waiting[0], a.Workers-a.running
	if free <= 0 {
		return nil
	}
	// The first share has the fewest running: where it may not have more, none may.
	if a.Share != nil && s.running > 0 && s.running+1 > free-1 {
		return nil
	}
	e := s.first
	a.unwait(e)
	e.state = running
	s.running++
	a.running++
	s.reorder(a)
	return e
}

// work runs an entry, and then others for as long as there are any to start.
func (a *Agenda[K]) work(ctx context.Context, e *entry[K], late time.Duration) {
	for e != nil {
		a.Observe(max(late, 0))
		e, late = a.finish(ctx, e, a.do(ctx, e.key))
	}
}

// afterPanic is when a key whose run has panicked is due again: it must be neither lost nor run without end.
const afterPanic = time.Minute

// do runs a key, and returns when it is due next, also where it panics.
func (a *Agenda[K]) do(ctx context.Context, key K) (next time.Time) {
	if panics.Try("agenda", func() error { next = a.Do(ctx, key); return nil }) != nil {
		return time.Now().Add(afterPanic)
	}
	return next
}

// finish plans an entry again or drops it, and returns the next one for the same worker.
func (a *Agenda[K]) finish(ctx context.Context, e *entry[K], next time.Time) (*entry[K], time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.share.running--
	a.running--
	e.share.reorder(a)
	e.state = planned
	switch {
	case e.again:
		e.again = false
		a.plan(e, e.at)
	case e.removed, next.IsZero():
		a.drop(e)
	default:
		a.plan(e, next.Sub(a.base))
	}
	now := a.now()
	a.collect(now)
	another := a.take(ctx)
	// More than one may start now: the share of this entry may have another worker, and so may one
	// that only waited for any.
	a.dispatch(ctx, now)
	if another == nil {
		return nil, 0
	}
	return another, now - another.at
}

// plan puts an entry among those to come, or moves it there. The lock is held.
func (a *Agenda[K]) plan(e *entry[K], at time.Duration) {
	e.at = at
	if e.slot == none {
		a.planned.add(e)
	} else {
		a.planned.fix(e.slot)
	}
	if e.slot != 0 {
		return
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// drop forgets an entry that is in no queue. The lock is held.
func (a *Agenda[K]) drop(e *entry[K]) {
	delete(a.keys, e.key)
	e.share.keys--
	if e.share.keys == 0 {
		delete(a.shares, e.share.name)
	}
}
