// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestABellRingsOnceThereIsAQueue(t *testing.T) {
	b := &Enqueuer{}
	key := types.NamespacedName{Namespace: "shop", Name: "one"}
	b.Enqueue(key) // nothing receives yet, and nothing is lost: the first reconcile reads all there is
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := b.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	b.Enqueue(key)
	b.Enqueue(key)
	if queue.Len() != 1 {
		t.Errorf("%d requests are waiting, want 1", queue.Len())
	}
}
