// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// MaxSelected is how many sources a selector may match.
const MaxSelected = 64

// ErrTooMany says that a selector matches more than MostSelected sources.
var ErrTooMany = errors.New("too many sources")

// Select returns the sources of the owner's namespace whose labels match, ordered by name. The owner
// is notified when others match, until the Observe after its next; where nothing is watched, as it is
// of anything. The error is ErrTooMany, or that of the API server, as for a list that is forbidden.
func (s *Sources) Select(ctx context.Context, by types.NamespacedName, kind autorebootv1.SourceKind, selector labels.Selector) ([]Ref, error) {
	from := scope{kind, by.Namespace}
	watched := s.addSelector(by, selection{from, selector.String()}, selector)
	var names []string
	var err error
	if watched {
		names, err = s.listCached(ctx, from, selector)
	} else {
		names, err = s.reader.list(ctx, from, selector, MaxSelected+1)
	}
	if err == nil && len(names) > MaxSelected {
		err = fmt.Errorf("%w: more than %d match", ErrTooMany, MaxSelected)
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

// addSelector notes a selector of an owner, and says whether events arrive.
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
func (s *Sources) listCached(ctx context.Context, from scope, selector labels.Selector) ([]string, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(gvk(from.kind + "List"))
	if err := s.Cache.List(ctx, &list, client.InNamespace(from.namespace),
		client.MatchingLabelsSelector{Selector: selector}, client.Limit(MaxSelected+1)); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}
