// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-dev/fairlead/internal/partialcache"
)

// Kind is a source of events of a kind, which has synced when the informer of that kind has. That of controller-runtime
// waits for the informers of all kinds: one that may not be listed would stop every controller.
func Kind[T client.Object](
	from cache.Cache, of T, handle handler.TypedEventHandler[T, reconcile.Request], predicates ...predicate.TypedPredicate[T],
) source.SyncingSource {
	return source.Kind(ownInformer{from}, of, handle, predicates...)
}

// OptionalKind is Kind for a kind that a controller can do without: the controller does not wait for it, and its events begin
// when its CRD has been installed and the operator may list it. A kind of ours that the operator leaves out has none.
func OptionalKind[T client.Object](
	from cache.Cache, of T, handle handler.TypedEventHandler[T, reconcile.Request], predicates ...predicate.TypedPredicate[T],
) source.Source {
	if partialcache.LeavesOut(from, of) {
		return source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error { return nil })
	}
	return struct{ source.Source }{Kind(from, of, handle, predicates...)}
}

// ownInformer is a cache whose GetInformer has waited for the one informer that matters to the caller.
type ownInformer struct{ cache.Cache }

func (ownInformer) WaitForCacheSync(ctx context.Context) bool { return ctx.Err() == nil }
