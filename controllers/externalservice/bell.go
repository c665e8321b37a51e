// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// bell has objects reconciled because of something outside the cluster. It is a source of the
// controller, which hands it the queue.
type bell struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (b *bell) source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.queue = queue
		return nil
	})
}

// ring has an object reconciled. It does not block, and the queue has each object once. Before there
// is a queue nothing is lost: the first reconcile reads the state that there is then.
func (b *bell) ring(key types.NamespacedName) {
	b.mu.Lock()
	queue := b.queue
	b.mu.Unlock()
	if queue != nil {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
}
