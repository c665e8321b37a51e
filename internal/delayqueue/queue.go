// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"context"
	"errors"
	"sync"
	"time"
)

// wakeInterval is the unit to which wake-ups are rounded up, counted from New. A busy queue then wakes 200 times a second for
// batches instead of thousands of times for one key each.
const wakeInterval = 5 * time.Millisecond

// defaultWorkers is used where Options.Workers is not positive.
const defaultWorkers = 16

// Options of a Queue.
type Options[K comparable] struct {
	// Workers is how many keys are processed at once at most. Defaults to 16.
	Workers int
	// Process processes a key that is due and returns when it is due next; the zero time removes the key.
	// It must return soon after ctx has ended. Required.
	Process func(ctx context.Context, key K) (next time.Time)
	// Tenant returns the tenant of a key, always the same for the same key. A tenant gets another worker
	// only while it then holds no more workers than are left free: alone it holds half of them at most, two
	// that hang leave a third, and so on. Where more keys are due than workers are free, the tenant with the
	// fewest workers comes first. Defaults to nil: any key may use any worker.
	Tenant func(key K) string
	// Observe is called with how long after it was due a key was started. Defaults to nil.
	Observe func(late time.Duration)
}

// Queue is a delaying queue with workers. All methods are safe for concurrent use, also within Process. Keys
// that are set before Run start with it.
type Queue[K comparable] struct {
	options Options[K]

	base    time.Time
	wake    chan struct{}
	workers sync.WaitGroup

	mu      sync.Mutex
	started bool
	running int
	keys    map[K]*item[K]
	tenants map[string]*tenant[K]
	delayed heap[*item[K]]
	ready   heap[*tenant[K]]
}

// New returns an empty Queue.
func New[K comparable](o Options[K]) *Queue[K] {
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration) {}
	}
	return &Queue[K]{
		options: o,
		base:    time.Now(),
		wake:    make(chan struct{}, 1),
		keys:    map[K]*item[K]{},
		tenants: map[string]*tenant[K]{},
	}
}

// Set makes the key due at a time, in place of any former one. A time in the past means now. A key that is
// being processed is due again at that time, but not before its processing has ended, whatever Process
// returns.
func (q *Queue[K]) Set(key K, at time.Time) {
	var name string
	if q.options.Tenant != nil {
		name = q.options.Tenant(key)
	}
	due := at.Sub(q.base)
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.keys[key]
	if !ok {
		e = &item[K]{key: key, tenant: q.acquireTenant(name), index: noIndex}
		q.keys[key] = e
	}
	switch e.state {
	case running:
		e.at, e.requeued, e.removed = due, true, false
		return
	case ready:
		if due <= q.now() {
			return
		}
		q.unmarkReady(e)
	case delayed:
	}
	q.delay(e, due)
}

// Remove removes the key. If it is being processed, that continues, and it is not due again.
func (q *Queue[K]) Remove(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.keys[key]
	if !ok {
		return
	}
	switch e.state {
	case running:
		e.removed, e.requeued = true, false
		return
	case ready:
		q.unmarkReady(e)
	case delayed:
		q.delayed.remove(e.index)
	}
	q.forget(e)
}

// Len returns the number of keys.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.keys)
}

// Running returns how many keys are being processed.
func (q *Queue[K]) Running() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// Run processes keys that are due until ctx ends, and returns once the workers have ended. It may be called
// again after that, but not concurrently.
func (q *Queue[K]) Run(ctx context.Context) error {
	if !q.setStarted(true) {
		return errors.New("delayqueue: Run is under way already; call it once at a time")
	}
	defer q.setStarted(false)
	defer q.workers.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-q.wake:
		}
		if wait, ok := q.advance(ctx); ok {
			timer.Reset(wait)
		}
	}
}

func (q *Queue[K]) setStarted(yes bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	changed := q.started != yes
	q.started = yes
	return changed
}

// now is the time since New. Offsets compare faster and are smaller than times.
func (q *Queue[K]) now() time.Duration { return time.Since(q.base) }
