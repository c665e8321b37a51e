// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// quiet is the least time between two looks at a policy because of what goes on in its namespace: a
// rollout of a thousand pods is thousands of events.
const quiet = time.Second

// bell has policies reconciled because of something beside them. It is a source of the controller,
// which hands it the queue.
type bell struct {
	now func() time.Time

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// stirred is when each policy was last stirred.
	stirred map[types.NamespacedName]time.Time
}

func newBell(now func() time.Time) *bell {
	return &bell{now: now, stirred: map[types.NamespacedName]time.Time{}}
}

func (b *bell) source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.queue = queue
		return nil
	})
}

// ring has a policy reconciled at once. It does not block, and the queue has each policy once. Before
// there is a queue nothing is lost: the first reconcile reads the state that there is then.
func (b *bell) ring(key types.NamespacedName) {
	b.mu.Lock()
	queue := b.queue
	b.mu.Unlock()
	if queue != nil {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
}

// stir has a policy reconciled because a workload or a pod has moved: at once after some quiet, and
// once at the end of each quiet time while they come in masses. The queue keeps the soonest of the
// times that it is given.
func (b *bell) stir(key types.NamespacedName) {
	b.mu.Lock()
	queue, now := b.queue, b.now()
	wait := b.stirred[key].Add(quiet).Sub(now)
	if wait <= 0 {
		b.stirred[key] = now
	}
	b.mu.Unlock()
	switch {
	case queue == nil:
	case wait <= 0:
		queue.Add(reconcile.Request{NamespacedName: key})
	default:
		queue.AddAfter(reconcile.Request{NamespacedName: key}, min(wait, quiet))
	}
}

// forget drops a policy.
func (b *bell) forget(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.stirred, key)
}
