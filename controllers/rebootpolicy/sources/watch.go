// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// Cache is the part of a cache.Cache that is needed.
type Cache interface {
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

// ByObject is what the cache must hold in mode Watch: the metadata of ConfigMaps and Secrets, as
// Transform leaves it. That cache must not be asked for their content.
func ByObject() map[client.Object]cache.ByObject {
	shared := true
	each := cache.ByObject{Transform: Transform, UnsafeDisableDeepCopy: &shared}
	return map[client.Object]cache.ByObject{
		partialObject(autorebootv1.SourceConfigMap): each,
		partialObject(autorebootv1.SourceSecret):    each,
	}
}

// Transform keeps of an object's metadata what names it, orders it and selects it. An annotation may
// hold the content of a Secret: that of kubectl apply does.
func Transform(in any) (any, error) {
	if full, ok := in.(*metav1.PartialObjectMetadata); ok {
		full.ObjectMeta = metav1.ObjectMeta{
			Namespace: full.Namespace, Name: full.Name, UID: full.UID,
			ResourceVersion: full.ResourceVersion, Labels: full.Labels,
		}
	}
	return in, nil
}

func partialObject(kind autorebootv1.SourceKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gvk(kind))
	return object
}

// Run notifies owners until ctx ends. Before it, and for as long as a watch has not begun, sources are
// polled. It returns an error where a watch cannot be had at all.
func (s *Sources) Run(ctx context.Context) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var parts sync.WaitGroup
	start := func(part func(context.Context) error) {
		parts.Go(func() {
			if err := panics.Try("sources", func() error { return part(running) }); err != nil {
				stop(err)
			}
		})
	}
	start(s.queue.Run)
	if s.Mode == Watch {
		start(s.watch)
	}
	<-running.Done()
	parts.Wait()
	if ctx.Err() != nil {
		return nil // an orderly end
	}
	return context.Cause(running)
}

// watch hears of every ConfigMap and Secret until ctx ends.
func (s *Sources) watch(ctx context.Context) error {
	kinds := []autorebootv1.SourceKind{autorebootv1.SourceConfigMap, autorebootv1.SourceSecret}
	synced := make([]<-chan struct{}, len(kinds))
	for i, kind := range kinds {
		informer, err := s.Cache.GetInformer(ctx, partialObject(kind), cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("sources: watch the metadata of %s: %w", kind, err)
		}
		heard, err := informer.AddEventHandler(&handler{sources: s, kind: kind})
		if err != nil {
			return fmt.Errorf("sources: watch the metadata of %s: %w", kind, err)
		}
		defer func() { _ = informer.RemoveEventHandler(heard) }() // the cache ends as well
		synced[i] = heard.HasSyncedChecker().Done()
	}
	for _, done := range synced {
		select {
		case <-done:
		case <-ctx.Done():
			return nil
		}
	}
	s.startWatching()
	<-ctx.Done()
	s.stopWatching()
	return nil
}

// startWatching trusts events from now on. Whatever was read before may have changed without one.
func (s *Sources) startWatching() {
	s.mu.Lock()
	s.watched = true
	for _, o := range s.objects {
		o.stale, o.eventVersion = true, ""
	}
	owners := s.ownerKeys()
	s.mu.Unlock()
	s.notify(owners)
}

func (s *Sources) stopWatching() {
	s.mu.Lock()
	s.watched = false
	s.mu.Unlock()
}
