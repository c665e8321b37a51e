// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"
)

func TestAHistoryHasTheLatestFirstAndIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		before []int
		limit  *int32
		add    []int
		want   []int
	}{
		"nothing at all":              {nil, ptr.To[int32](3), nil, nil},
		"the first":                   {nil, ptr.To[int32](3), []int{1}, []int{1}},
		"two at once":                 {[]int{1}, ptr.To[int32](3), []int{2, 3}, []int{3, 2, 1}},
		"more than the limit":         {[]int{3, 2, 1}, ptr.To[int32](3), []int{4}, []int{4, 3, 2}},
		"a limit that was lowered":    {[]int{3, 2, 1}, ptr.To[int32](1), nil, []int{3}},
		"a limit below the least":     {[]int{1}, ptr.To[int32](0), []int{2}, []int{2}},
		"a negative limit":            {[]int{1}, ptr.To[int32](-7), []int{2}, []int{2}},
		"no limit in a stored object": {[]int{1}, nil, []int{2}, []int{2, 1}},
	} {
		if got := Add(c.before, c.limit, c.add...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if n := len(Add(make([]int, 60), ptr.To[int32](100))); n != 50 {
		t.Errorf("%d records with a limit of 100, want 50", n)
	}
}
