// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// handler hears of the metadata of one kind. What it does for an object that is not observed is two
// look-ups in maps.
type handler struct {
	sources *Sources
	kind    autorebootv1.SourceKind
}

var _ toolscache.ResourceEventHandler = (*handler)(nil)

// OnAdd is called for what appears, and for everything that there is at first.
func (h *handler) OnAdd(in any, _ bool) {
	if added, ok := in.(*metav1.PartialObjectMetadata); ok {
		h.sources.handleEvent(h.kind, nil, added, added.ResourceVersion)
	}
}

// OnUpdate is also called now and then for what has not changed.
func (h *handler) OnUpdate(from, to any) {
	before, ok := from.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	if after, ok := to.(*metav1.PartialObjectMetadata); ok && before.ResourceVersion != after.ResourceVersion {
		h.sources.handleEvent(h.kind, before, after, after.ResourceVersion)
	}
}

// OnDelete may be called long after the fact, with the object as it was last heard of: its version is
// then not that of its end.
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

// handleEvent marks a source that changed, and notifies whom it concerns. Owners are notified even where a
// read has seen the change already, since it may have been the read of another one.
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
	concerned := map[types.NamespacedName]struct{}{}
	if o := s.objects[Ref{Kind: kind, Namespace: about.Namespace, Name: about.Name}]; o != nil {
		o.recordEvent(version, after == nil)
		for _, v := range o.views {
			maps.Copy(concerned, v.owners)
		}
	}
	from := scope{kind, about.Namespace}
	for by := range s.selectorOwners[from] {
		if s.owners[by].selectionChanged(from, before, after) {
			concerned[by] = struct{}{}
		}
	}
	s.mu.Unlock()
	s.notify(slices.Collect(maps.Keys(concerned)))
}

// selectionChanged says whether any selector matches an object now and did not, or the reverse.
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
