// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
)

// Assumed are sources as they are assumed to be, by which a change is tried that was not made. It reads nothing: every other
// source is Unreadable. It is not safe for concurrent use.
type Assumed struct {
	by      *Sources // evaluates
	before  *Assumed
	sources map[Ref]*assumption
}

// assumption is one source; without content it is missing.
type assumption struct {
	*content
	labels labels.Set
	// opaque means that the values stand for others, and unread is that of each key that is not in the content.
	opaque bool
	unread []byte
}

// AnyKey names a key whose name is unknown.
const AnyKey = "any key"

// NewAssumed returns an empty Assumed, whose sources were those of another one before; nil for none.
func NewAssumed(key *fingerprint.Key, before *Assumed) *Assumed {
	return &Assumed{by: &Sources{options: Options{Key: key}}, before: before, sources: map[Ref]*assumption{}}
}

// Add assumes a source with these values. Opaque means that the values stand for others, which were not read: that under the key
// of a certificate counts as a certificate then.
func (a *Assumed) Add(ref Ref, meta *metav1.ObjectMeta, data map[string][]byte, opaque bool) {
	a.sources[ref] = &assumption{content: contentOf(meta, data), labels: meta.Labels, opaque: opaque}
}

// AddUnread adds a source whose values are unknown. It has every key that is wanted of it; value is the placeholder for their
// content.
func (a *Assumed) AddUnread(ref Ref, value []byte) {
	a.sources[ref] = &assumption{content: &content{data: map[string][]byte{AnyKey: value}}, opaque: true, unread: value}
}

// Set replaces the value of keys with a placeholder for an unknown value.
func (a *Assumed) Set(ref Ref, keys []string, value []byte) {
	s := a.sources[ref]
	s.content.data = maps.Clone(s.content.data)
	for _, key := range keys {
		s.content.data[key] = value
	}
}

// AddMissing assumes that a source does not exist.
func (a *Assumed) AddMissing(ref Ref) { a.sources[ref] = &assumption{} }

// Select returns the sources of a namespace that exist and have labels.
func (a *Assumed) Select(
	_ context.Context, by types.NamespacedName, kind autorebootv1.SourceKind, selector labels.Selector, _ int,
) (found []Ref, _ error) {
	for ref, s := range a.sources {
		if ref.Kind == kind && ref.Namespace == by.Namespace && s.content != nil && selector.Matches(s.labels) {
			found = append(found, ref)
		}
	}
	return found, nil
}

// Observe returns the states of sources, without the times of writes.
func (a *Assumed) Observe(_ context.Context, _ types.NamespacedName, wants []Want) ([]State, error) {
	states := make([]State, len(wants))
	for i, want := range wants {
		s := a.sources[want.Ref]
		if s == nil {
			states[i] = State{Unknown: autorebootv1.ReasonUnreadable}
			continue
		}
		if s.opaque && want.Certificate != "" {
			want.Keys, want.Certificate = []string{want.Certificate}, ""
		}
		for _, key := range want.Keys {
			if _, has := s.data()[key]; !has && s.unread != nil {
				s.content.data[key] = s.unread
			}
		}
		result := a.by.evaluate(s.content, map[viewKey]Want{"": want})[""]
		states[i], states[i].Version = result.state, ""
	}
	return states, nil
}

// Forget does nothing.
func (a *Assumed) Forget(types.NamespacedName) {}

// Keys returns the names of all keys of a source that had another value before, or did not exist, in order.
func (a *Assumed) Keys(ref Ref) []string { return a.Changed(&Want{Ref: ref}) }

// data are the values of a source; none without one.
func (s *assumption) data(without ...string) map[string][]byte {
	if s == nil || s.content == nil {
		return nil
	}
	return s.without(without).data
}

// value returns what a source has under a key.
func (s *assumption) value(key string, data map[string][]byte) (value []byte, has bool) {
	if value, has = data[key]; !has && s != nil && s.unread != nil {
		return s.unread, true
	}
	return value, has
}

// Changed returns the names of the keys that count for a want and had another value before, or did not exist, in order.
func (a *Assumed) Changed(want *Want) []string {
	former := &Assumed{}
	if a.before != nil {
		former = a.before
	}
	is, was := a.sources[want.Ref].data(want.ExcludedKeys...), former.sources[want.Ref].data(want.ExcludedKeys...)
	keys := want.Keys
	if want.Certificate != "" {
		keys = []string{want.Certificate}
	}
	if len(keys) == 0 {
		all := maps.Clone(is)
		if all == nil {
			all = map[string][]byte{}
		}
		maps.Copy(all, was)
		keys = slices.Sorted(maps.Keys(all))
	}
	var changed []string
	for _, key := range keys {
		value, has := a.sources[want.Ref].value(key, is)
		before, had := former.sources[want.Ref].value(key, was)
		if key == AnyKey && len(keys) > 1 {
			continue // those that are known by their names are named
		}
		if has != had || !bytes.Equal(value, before) {
			changed = append(changed, key)
		}
	}
	return changed
}
