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

// Interests say what each object of a kind wants to hear of in its namespace. An event costs as much as
// there are such objects in its namespace, and nothing where there are none. The zero value is ready for
// use.
type Interests[I any] struct {
	mu  sync.RWMutex
	all map[string]map[string]I
}

// Set replaces the interest of an object, which is not changed from then on. It comes before what is of
// interest is read: what happens after that is heard of.
func (is *Interests[I]) Set(key types.NamespacedName, interest I) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if is.all == nil {
		is.all = map[string]map[string]I{}
	}
	if is.all[key.Namespace] == nil {
		is.all[key.Namespace] = map[string]I{}
	}
	is.all[key.Namespace][key.Name] = interest
}

// Get returns the interest of an object; the zero value where there is none.
func (is *Interests[I]) Get(key types.NamespacedName) I {
	is.mu.RLock()
	defer is.mu.RUnlock()
	return is.all[key.Namespace][key.Name]
}

// Forget drops the interest of an object.
func (is *Interests[I]) Forget(key types.NamespacedName) {
	is.mu.Lock()
	defer is.mu.Unlock()
	delete(is.all[key.Namespace], key.Name)
	if len(is.all[key.Namespace]) == 0 {
		delete(is.all, key.Namespace)
	}
}

// Any says whether an object of a namespace has an interest.
func (is *Interests[I]) Any(namespace string) bool {
	is.mu.RLock()
	defer is.mu.RUnlock()
	return len(is.all[namespace]) > 0
}

// In returns the objects of a namespace that care.
func (is *Interests[I]) In(namespace string, cares func(I) bool) []types.NamespacedName {
	is.mu.RLock()
	defer is.mu.RUnlock()
	var keys []types.NamespacedName
	for name, interest := range is.all[namespace] {
		if cares(interest) {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return keys
}

// All returns the objects of all namespaces.
func (is *Interests[I]) All() []types.NamespacedName {
	is.mu.RLock()
	defer is.mu.RUnlock()
	var keys []types.NamespacedName
	for namespace, of := range is.all {
		for name := range of {
			keys = append(keys, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return keys
}

// Stirs has those objects reconciled that care for another one, as it was or as it is.
func Stirs[T client.Object, I any](r *Ringer, of *Interests[I], cares func(T) func(I) bool) handler.TypedEventHandler[T, reconcile.Request] {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	stir := func(object T) {
		for _, key := range of.In(object.GetNamespace(), cares(object)) {
			r.Stir(key)
		}
	}
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], _ queue) { stir(e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], _ queue) {
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() { // no resync
				stir(e.ObjectOld)
				stir(e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], _ queue) { stir(e.Object) },
	}
}
