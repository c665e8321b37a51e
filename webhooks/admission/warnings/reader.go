// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package warnings

import (
	"context"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options of a Reader.
type Options struct {
	// Client lists PodDisruptionBudgets. Required.
	Client kubernetes.Interface
	// Logger logs, at level 1, what cannot be read. Defaults to logr.Discard().
	Logger logr.Logger
}

// Reader reads the caches of the last SetCaches. Before that, it reads nothing.
type Reader struct {
	options Options
	caches  atomic.Pointer[caches]
}

type caches struct {
	own     client.Reader
	cluster cache.Cache
}

// NewReader returns a Reader without caches.
func NewReader(o Options) *Reader {
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	return &Reader{options: o}
}

// SetCaches sets the caches to read. own must have synced, and holds the objects of Fairlead. cluster holds workloads
// and pods, and need not have synced. It is nil if these are not cached, as in a replica that only serves webhooks.
func (r *Reader) SetCaches(own client.Reader, cluster cache.Cache) {
	r.caches.Store(&caches{own, cluster})
}

// DropCaches removes the caches. Nothing is read until the next SetCaches.
func (r *Reader) DropCaches() { r.caches.Store(nil) }

// List reads objects of Fairlead, and reports whether they could be read. They cannot be if only other namespaces are
// watched. The items belong to the cache and must not be changed: this saves a copy for each request.
func (r *Reader) List(ctx context.Context, into client.ObjectList, namespace string) bool {
	caches := r.caches.Load()
	if caches == nil {
		return false
	}
	if err := caches.own.List(ctx, into, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		r.options.Logger.V(1).Info("no overlap warnings", "namespace", namespace, "reason", err.Error())
		return false
	}
	return true
}

// ListCluster reads a kind of the cluster, and reports whether it could be read. The items belong to the cache and must
// not be changed. An empty namespace means all.
func (r *Reader) ListCluster(ctx context.Context, namespace string, kind client.Object, into client.ObjectList) bool {
	caches := r.caches.Load()
	if caches == nil || caches.cluster == nil {
		return false
	}
	informer, err := caches.cluster.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil || !informer.HasSynced() {
		return false
	}
	return caches.cluster.List(ctx, into, client.InNamespace(namespace), client.UnsafeDisableDeepCopy) == nil
}
