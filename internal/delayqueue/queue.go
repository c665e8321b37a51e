// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delayqueue

import (
	"context"
	"errors"
	"sync"
	"time"
)

// wakeInterval is what a wake-up is rounded up to, counted from New. A busy agenda then wakes 200 times a
// second for batches instead of thousands of times for one key each.
const wakeInterval = 5 * time.Millisecond

// defaultWorkers is used where Options.Workers is not positive.
const defaultWorkers = 16

// Options of an Agenda.
type Options[K comparable] struct {
	// Workers is how many keys run at once at most. The default is 16.
	Workers int
	// Process runs a key that is due and returns when it is due next; the zero time drops the key. It
	// must end soon after ctx has ended. Required.
	Process func(ctx context.Context, key K) (next time.Time)
	// Tenant names whom a key belongs to, always the same for the same key. A share gets another
	// worker only while it then holds no more workers than are left free: alone it holds half of
	// them at most, two that hang leave a third, and so on. Where there are more due keys than
	// workers, the share with the fewest running comes first. The default is no shares: any key
	// may use any worker.
	Tenant func(key K) string
	// Observe is told how long after it was due a key was started. Defaults to nil: it is not called.
	Observe func(late time.Duration)
}

// Queue is a deadline queue with workers. All methods may be called from anywhere at any time,
// also from within Do; what is Set before Run starts with it.
type Queue[K comparable] struct {
	Options[K]

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

// New makes an empty Agenda.
func New[K comparable](o Options[K]) *Queue[K] {
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration) {}
	}
	return &Queue[K]{
		Options: o,
		base:    time.Now(),
		wake:    make(chan struct{}, 1),
		keys:    map[K]*item[K]{},
		tenants: map[string]*tenant[K]{},
	}
}

// Set makes the key due at a time, instead of any time it had. A time that has passed means now. A
// key that runs is due again at that time, but not before its run has ended, whatever the run
// returns.
func (a *Queue[K]) Set(key K, at time.Time) {
	var name string
	if a.Tenant != nil {
		name = a.Tenant(key)
	}
	due := at.Sub(a.base)
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.keys[key]
	if !ok {
		e = &item[K]{key: key, tenant: a.acquireTenant(name), index: noIndex}
		a.keys[key] = e
	}
	switch e.state {
	case running:
		e.at, e.requeued, e.removed = due, true, false
		return
	case ready:
		if due <= a.now() {
			return
		}
		a.unmarkReady(e)
	case delayed:
	}
	a.delay(e, due)
}

// Remove forgets the key. A run under way goes on, and is not scheduled again.
func (a *Queue[K]) Remove(key K) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.keys[key]
	if !ok {
		return
	}
	switch e.state {
	case running:
		e.removed, e.requeued = true, false
		return
	case ready:
		a.unmarkReady(e)
	case delayed:
		a.delayed.remove(e.index)
	}
	a.forget(e)
}

// Len is how many keys there are.
func (a *Queue[K]) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.keys)
}

// Running is how many keys run now.
func (a *Queue[K]) Running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.running
}

// Run starts keys that are due until ctx ends, and returns once every run has ended. It can be
// called again after that, but not while it runs.
func (a *Queue[K]) Run(ctx context.Context) error {
	if !a.setStarted(true) {
		return errors.New("delayqueue: Run is under way already; call it once at a time")
	}
	defer a.setStarted(false)
	defer a.workers.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-a.wake:
		}
		if wait, ok := a.advance(ctx); ok {
			timer.Reset(wait)
		}
	}
}

func (a *Queue[K]) setStarted(yes bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := a.started != yes
	a.started = yes
	return changed
}

// now is the time since New. Offsets compare faster and are smaller than times.
func (a *Queue[K]) now() time.Duration { return time.Since(a.base) }
