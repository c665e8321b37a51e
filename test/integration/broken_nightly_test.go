// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"maps"
	"slices"
	"testing"
)

func TestBrokenObjects(t *testing.T) {
	t.Parallel()
	s, store, replica := newBrokenSuite(t)
	for _, k := range kinds {
		for _, name := range slices.Sorted(maps.Keys(damage)) {
			object := s.stored(k, name)
			damage[name](object)
			store.put(k, s.Namespace, name, object)
		}
	}
	in := func(test func(s *suite)) func(*testing.T) {
		return func(t *testing.T) {
			sub := *s
			sub.T = t
			test(&sub)
		}
	}
	t.Run("fail no list and no watch", in(func(s *suite) { s.failNoList(store) }))
	t.Run("are named by vet", in(func(s *suite) { s.namedByVet() }))
	replica.Stop()
	t.Run("that cannot be converted are named by vet without the operator", in(func(s *suite) { s.poisonNamedByVet(store) }))
	t.Run("are named by vet as far as it may read", in(func(s *suite) { s.namedAsFarAsAllowed() }))
}
