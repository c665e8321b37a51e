// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
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

// ByObject returns the cache options that mode Watch requires: metadata of ConfigMaps and Secrets, reduced by Transform. Do not
// read their content from that cache.
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

// Run notifies owners until ctx ends. Until the watches have synced, sources are polled. It returns an error if a watch
// cannot be started.
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
	if s.options.Mode == Watch {
		start(s.watch)
	}
	<-running.Done()
	parts.Wait()
	if ctx.Err() != nil {
		return nil // an orderly end
	}
	return context.Cause(running)
}

// watch handles events of all ConfigMaps and Secrets until ctx ends.
func (s *Sources) watch(ctx context.Context) error {
	kinds := []autorebootv1.SourceKind{autorebootv1.SourceConfigMap, autorebootv1.SourceSecret}
	synced := make([]<-chan struct{}, len(kinds))
	for i, kind := range kinds {
		informer, err := s.options.Cache.GetInformer(ctx, partialObject(kind), cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("sources: watch the metadata of %s: %w", kind, err)
		}
		registration, err := informer.AddEventHandler(&handler{sources: s, kind: kind})
		if err != nil {
			return fmt.Errorf("sources: watch the metadata of %s: %w", kind, err)
		}
		defer func() { _ = informer.RemoveEventHandler(registration) }() // the cache ends as well
		synced[i] = registration.HasSyncedChecker().Done()
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

// startWatching relies on events from now on. What was read before may have changed without one.
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

// handler handles events of one kind. For an object that is not observed it reads two maps.
type handler struct {
	sources *Sources
	kind    autorebootv1.SourceKind
}

var _ toolscache.ResourceEventHandler = (*handler)(nil)

// OnAdd is called for new objects, and for all that exist at first.
func (h *handler) OnAdd(in any, _ bool) {
	if added, ok := in.(*metav1.PartialObjectMetadata); ok {
		h.sources.handleEvent(h.kind, nil, added, added.ResourceVersion)
	}
}

// OnUpdate is also called for objects that have not changed.
func (h *handler) OnUpdate(from, to any) {
	before, ok := from.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	if after, ok := to.(*metav1.PartialObjectMetadata); ok && before.ResourceVersion != after.ResourceVersion {
		h.sources.handleEvent(h.kind, before, after, after.ResourceVersion)
	}
}

// OnDelete may be called late, with the last known object: its version is then not that of the deletion.
func (h *handler) OnDelete(in any) {
	if late, ok := in.(toolscache.DeletedFinalStateUnknown); ok {
		if gone, ok := late.Obj.(*metav1.PartialObjectMetadata); ok {
			h.sources.handleEvent(h.kind, gone, nil, "")
		}
		return
	}
	if gone, ok := in.(*metav1.PartialObjectMetadata); ok {
		h.sources.handleEvent(h.kind, gone, nil, gone.ResourceVersion)
	}
}

// handleEvent marks a source as changed, and notifies its owners, even if a read has found the change already: it may
// have been the read of another owner.
func (s *Sources) handleEvent(kind autorebootv1.SourceKind, before, after *metav1.PartialObjectMetadata, version string) {
	about := after
	if about == nil {
		about = before
	}
	s.mu.Lock()
	if !s.watched {
		s.mu.Unlock()
		return // all is read again when it is
	}
	owners := map[types.NamespacedName]struct{}{}
	if o := s.objects[Ref{Kind: kind, Namespace: about.Namespace, Name: about.Name}]; o != nil {
		o.recordEvent(version, after == nil)
		for _, v := range o.views {
			maps.Copy(owners, v.owners)
		}
	}
	from := scope{kind, about.Namespace}
	for by := range s.selectorOwners[from] {
		if s.owners[by].selectionChanged(from, before, after) {
			owners[by] = struct{}{}
		}
	}
	s.mu.Unlock()
	s.notify(slices.Collect(maps.Keys(owners)))
}

// selectionChanged reports whether any selector matches an object now and did not before, or the reverse.
func (o *owner) selectionChanged(from scope, before, after *metav1.PartialObjectMetadata) bool {
	for _, selectors := range []map[selection]labels.Selector{o.selectors, o.nextSelectors} {
		for what, selector := range selectors {
			if what.from == from && matches(selector, before) != matches(selector, after) {
				return true
			}
		}
	}
	return false
}

func matches(selector labels.Selector, object *metav1.PartialObjectMetadata) bool {
	return object != nil && selector.Matches(labels.Set(object.Labels))
}
