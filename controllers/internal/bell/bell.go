// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bell

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
