// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestNamesAreThoseWithThePrefixAndNoMorePagesThanThatTakes(t *testing.T) {
	s := &server{objects: map[string][]client.Object{}}
	for i := range 3 * pageSize {
		es := database()
		es.ObjectMeta = named(fmt.Sprintf("db-%04d", i))
		s.objects["externalservices"] = append(s.objects["externalservices"], es)
	}
	for prefix, want := range map[string]struct{ names, requests int }{
		"": {3 * pageSize, 3}, "db-000": {10, 1}, "db-149": {10, 3}, "x": {0, 3}, "a": {0, 1},
	} {
		before := s.asked.Load()
		found, err := Names(t.Context(), s.client(t), ExternalService, "shop", prefix)
		if requests := int(s.asked.Load() - before); err != nil || len(found) != want.names || requests != want.requests || !slices.IsSorted(found) {
			t.Errorf("%q: %d names by %d requests, %v", prefix, len(found), requests, err)
		}
	}
	s.refuse = map[string]*apierrors.StatusError{"externalservices": forbidden("externalservices")}
	if found, err := Names(t.Context(), s.client(t), ExternalService, "shop", ""); err == nil || len(found) > 0 {
		t.Error(found, err)
	}
}
