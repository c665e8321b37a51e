// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Bell is a source of a controller, which hands it the queue. Its zero value is ready for use.
type Bell struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Source is what the controller watches.
func (b *Bell) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.queue = queue
		return nil
	})
}

// Ring has an object reconciled at once. The queue has each object once. Before there is a queue nothing
// is lost: the first reconcile reads the state that there is then.
func (b *Bell) Ring(key types.NamespacedName) { b.RingIn(key, 0) }

// RingIn has an object reconciled after a time; the queue keeps the soonest that it is given.
func (b *Bell) RingIn(key types.NamespacedName, wait time.Duration) {
	b.mu.Lock()
	queue := b.queue
	b.mu.Unlock()
	switch {
	case queue == nil:
	case wait <= 0:
		queue.Add(reconcile.Request{NamespacedName: key})
	default:
		queue.AddAfter(reconcile.Request{NamespacedName: key}, wait)
	}
}

// Quiet is the least time between two looks at an object because of what goes on in its namespace: a
// rollout of a thousand pods is thousands of events.
const Quiet = time.Second

// Ringer has objects reconciled because of something beside them.
type Ringer struct {
	Bell
	now func() time.Time

	mu sync.Mutex
	// stirred is when each object was last stirred.
	stirred map[types.NamespacedName]time.Time
}

// NewRinger makes a Ringer with a clock.
func NewRinger(now func() time.Time) *Ringer {
	return &Ringer{now: now, stirred: map[types.NamespacedName]time.Time{}}
}

// Stir has an object reconciled because a workload or a pod has moved: at once after some quiet, and
// once at the end of each quiet time while they come in masses.
func (r *Ringer) Stir(key types.NamespacedName) {
	r.mu.Lock()
	now := r.now()
	wait := r.stirred[key].Add(Quiet).Sub(now)
	if wait <= 0 {
		r.stirred[key] = now
	}
	r.mu.Unlock()
	r.RingIn(key, min(wait, Quiet))
}

// Forget drops an object.
func (r *Ringer) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.stirred, key)
}

// Stirred is how many objects have been stirred and not forgotten.
func (r *Ringer) Stirred() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.stirred)
}
