// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// WatchIndex holds what each object of a kind watches in its namespace. An event costs as much as there are
// such objects in its namespace, and nothing where there are none. The zero value is ready for use.
type WatchIndex[I any] struct {
	mu  sync.RWMutex
	all map[string]map[string]I
}

// Set replaces what an object watches, which is not changed from then on. Call it before what is watched is
// read: what happens afterwards then enqueues the object.
func (w *WatchIndex[I]) Set(key types.NamespacedName, watched I) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]map[string]I{}
	}
	if w.all[key.Namespace] == nil {
		w.all[key.Namespace] = map[string]I{}
	}
	w.all[key.Namespace][key.Name] = watched
}

// Get returns what an object watches; the zero value where nothing is set.
func (w *WatchIndex[I]) Get(key types.NamespacedName) I {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.all[key.Namespace][key.Name]
}

// Forget drops an object.
func (w *WatchIndex[I]) Forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all[key.Namespace], key.Name)
	if len(w.all[key.Namespace]) == 0 {
		delete(w.all, key.Namespace)
	}
}

// Any reports whether an object of a namespace watches anything.
func (w *WatchIndex[I]) Any(namespace string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.all[namespace]) > 0
}

// In returns the objects of a namespace that watch something.
func (w *WatchIndex[I]) In(namespace string, watches func(I) bool) []types.NamespacedName {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var keys []types.NamespacedName
	for name, watched := range w.all[namespace] {
		if watches(watched) {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return keys
}

// All returns the objects of all namespaces.
func (w *WatchIndex[I]) All() []types.NamespacedName {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var keys []types.NamespacedName
	for namespace, of := range w.all {
		for name := range of {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return keys
}

// EnqueueAll enqueues every object.
func (w *WatchIndex[I]) EnqueueAll(with *CoalescingEnqueuer) {
	for _, key := range w.All() {
		with.EnqueueCoalesced(key)
	}
}

// EnqueueFor returns a handler that enqueues the objects that watch another one, as it was or as it is.
func EnqueueFor[T client.Object, I any](
	r *CoalescingEnqueuer, of *WatchIndex[I], watches func(T) func(I) bool,
) handler.TypedEventHandler[T, reconcile.Request] {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(object T) {
		for _, key := range of.In(object.GetNamespace(), watches(object)) {
			r.EnqueueCoalesced(key)
		}
	}
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], _ queue) { enqueue(e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], _ queue) {
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() { // no resync
				enqueue(e.ObjectOld)
				enqueue(e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], _ queue) { enqueue(e.Object) },
	}
}
