// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// owner is one that observes.
type owner struct {
	views map[viewID]struct{}
	// selectors are the selectors that notify; next are those since the latest Observe, which do too.
	selectors, nextSelectors map[selection]labels.Selector
}

// viewID is a view of a source.
type viewID struct {
	ref  Ref
	view viewKey
}

// scope is the kind and namespace that a selector applies to.
type scope struct {
	kind      autorebootv1.SourceKind
	namespace string
}

// selection is a selector, in its canonical form.
type selection struct {
	from     scope
	selector string
}

// setViews makes wants all that the owner observes. What it no longer observes is removed first, which makes room.
func (s *Sources) setViews(by types.NamespacedName, wants []Want) {
	ids := make([]viewID, len(wants))
	for i := range wants {
		ids[i] = viewID{wants[i].Ref, viewOf(&wants[i])}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	who := s.ownerFor(by)
	before := who.views
	who.views = make(map[viewID]struct{}, len(ids))
	for _, id := range ids {
		if _, ok := before[id]; ok {
			who.views[id] = struct{}{}
			delete(before, id)
		}
	}
	s.release(by, before)
	for i, id := range ids {
		if _, ok := who.views[id]; !ok && s.acquire(by, id, &wants[i]) {
			who.views[id] = struct{}{}
		}
	}
	s.updateSelectors(by, who)
}

// acquire begins an owner's interest in a view, unless too much is observed. The lock is held.
func (s *Sources) acquire(by types.NamespacedName, id viewID, want *Want) bool {
	o := s.objects[id.ref]
	if o == nil {
		if len(s.objects) >= s.options.MaxSources {
			return false
		}
		o = &object{kind: id.ref.Kind, views: map[viewKey]*view{}}
		s.objects[id.ref] = o
	}
	v := o.views[id.view]
	if v == nil {
		own := *want
		own.Keys = append([]string(nil), want.Keys...) // nil for none
		v = &view{want: own, owners: map[types.NamespacedName]struct{}{}}
		o.views[id.view] = v
	}
	v.owners[by] = struct{}{}
	return true
}

// ownerFor finds or makes an owner. The lock is held.
func (s *Sources) ownerFor(by types.NamespacedName) *owner {
	who := s.owners[by]
	if who == nil {
		who = &owner{nextSelectors: map[selection]labels.Selector{}}
		s.owners[by] = who
		if !s.watched {
			// Owners that were made together must not read together for ever after.
			first := time.Duration((0.5 + s.jitter()) * float64(s.interval()))
			s.queue.Set(by, time.Now().Add(first))
		}
	}
	return who
}

// release ends an owner's interest in views. The lock is held.
func (s *Sources) release(by types.NamespacedName, views map[viewID]struct{}) {
	for id := range views {
		o := s.objects[id.ref]
		v := o.views[id.view]
		delete(v.owners, by)
		if len(v.owners) == 0 {
			delete(o.views, id.view)
		}
		if len(o.views) == 0 {
			delete(s.objects, id.ref)
		}
	}
}

// updateSelectors makes the selectors since the latest Observe all that the owner has. The lock is held.
func (s *Sources) updateSelectors(by types.NamespacedName, who *owner) {
	before := who.selectors
	who.selectors, who.nextSelectors = who.nextSelectors, map[selection]labels.Selector{}
	still := map[scope]bool{}
	for selected := range who.selectors {
		still[selected.from] = true
	}
	for selected := range before {
		if !still[selected.from] {
			s.removeSelector(by, selected.from)
		}
	}
}

func (s *Sources) removeSelector(by types.NamespacedName, from scope) {
	delete(s.selectorOwners[from], by)
	if len(s.selectorOwners[from]) == 0 {
		delete(s.selectorOwners, from)
	}
}

// Forget ends all interest of an owner. It is not notified any more.
func (s *Sources) Forget(by types.NamespacedName) {
	s.mu.Lock()
	if who := s.owners[by]; who != nil {
		s.release(by, who.views)
		for selected := range who.selectors {
			s.removeSelector(by, selected.from)
		}
		for selected := range who.nextSelectors {
			s.removeSelector(by, selected.from)
		}
		delete(s.owners, by)
	}
	s.mu.Unlock()
	s.queue.Remove(by)
}

// poll notifies an owner, and returns when to do so again: never while events arrive.
func (s *Sources) poll(_ context.Context, by types.NamespacedName) time.Time {
	s.mu.Lock()
	who, watched, next := s.owners[by], s.watched, time.Now().Add(s.interval())
	idle := who != nil && len(who.views)+len(who.selectors)+len(who.nextSelectors) == 0
	s.mu.Unlock()
	if who == nil {
		return time.Time{}
	}
	if !idle {
		s.options.Notify(by)
	}
	if watched {
		return time.Time{}
	}
	return next
}

// ownerKeys is all owners. The lock is held.
func (s *Sources) ownerKeys() []types.NamespacedName {
	return slices.Collect(maps.Keys(s.owners))
}

func (s *Sources) notify(owners []types.NamespacedName) {
	for _, by := range owners {
		s.options.Notify(by)
	}
}

const (
	// MaxSelected is how many sources a selector may match that are to be observed.
	MaxSelected = 64
	// MaxExcluded is how many it may match that are not: of these the names alone are kept.
	MaxExcluded = 2000
)

// ErrTooMany means that a selector matches too many sources.
var ErrTooMany = errors.New("too many sources")

// Select returns the sources of the owner's namespace whose labels match, at most so many, ordered by name. The owner
// is notified when others match, until the Observe after its next; where nothing is watched, as it is
// of anything. The error is ErrTooMany, or that of the API server, as for a list that is forbidden.
func (s *Sources) Select(
	ctx context.Context, by types.NamespacedName, kind autorebootv1.SourceKind, selector labels.Selector, most int,
) ([]Ref, error) {
	from := scope{kind, by.Namespace}
	watched := s.addSelector(by, selection{from, selector.String()}, selector)
	var names []string
	var err error
	if watched {
		names, err = s.listCached(ctx, from, selector, most)
	} else {
		names, err = s.reader.list(ctx, from, selector, int64(most)+1)
	}
	if err == nil && len(names) > most {
		err = fmt.Errorf("%w: more than %d match", ErrTooMany, most)
	}
	if err != nil {
		return nil, fmt.Errorf("select %ss of namespace %s by %q: %w", strings.ToLower(string(kind)), by.Namespace, selector, err)
	}
	slices.Sort(names)
	refs := make([]Ref, len(names))
	for i, name := range names {
		refs[i] = Ref{Kind: kind, Namespace: by.Namespace, Name: name}
	}
	return refs, nil
}

// addSelector records a selector of an owner, and reports whether events arrive.
func (s *Sources) addSelector(by types.NamespacedName, what selection, selector labels.Selector) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ownerFor(by).nextSelectors[what] = selector
	if s.selectorOwners[what.from] == nil {
		s.selectorOwners[what.from] = map[types.NamespacedName]struct{}{}
	}
	s.selectorOwners[what.from][by] = struct{}{}
	return s.watched
}

// listCached lists from the cache, which hands out its own objects: they are read, and left alone.
func (s *Sources) listCached(ctx context.Context, from scope, selector labels.Selector, most int) ([]string, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(gvk(from.kind + "List"))
	if err := s.options.Cache.List(ctx, &list, client.InNamespace(from.namespace),
		client.MatchingLabelsSelector{Selector: selector}, client.Limit(int64(most)+1)); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}
