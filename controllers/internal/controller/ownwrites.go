// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// OwnWrites holds the version of each object that the latest write of this process made. The zero value is ready for use.
type OwnWrites struct {
	mu       sync.Mutex
	versions map[types.NamespacedName]string
}

// Record records a write that has just succeeded.
func (w *OwnWrites) Record(object client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[types.NamespacedName]string{}
	}
	w.versions[client.ObjectKeyFromObject(object)] = object.GetResourceVersion()
}

// Forget drops an object.
func (w *OwnWrites) Forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, key)
}

// Len returns how many objects have a version.
func (w *OwnWrites) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.versions)
}

func (w *OwnWrites) isLatest(object client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.versions[client.ObjectKeyFromObject(object)] == object.GetResourceVersion()
}

// StatusChangedByOthers passes updates that change a status and are not the latest write of this process. What a
// controller remembers in a status is then looked at before it is needed: a status that another writer removed is written
// again at once. A write of this process whose event arrives before its response passes as well.
func StatusChangedByOthers[T client.Object](own *OwnWrites, statusOf func(T) any) predicate.TypedPredicate[T] {
	return predicate.TypedFuncs[T]{UpdateFunc: func(e event.TypedUpdateEvent[T]) bool {
		return e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() && !own.isLatest(e.ObjectNew) &&
			!apiequality.Semantic.DeepEqual(statusOf(e.ObjectOld), statusOf(e.ObjectNew))
	}}
}
