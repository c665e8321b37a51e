// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"slices"
	"testing"
)

func TestASampleIsRepeatedByItsSeedAndALongRunIsWhole(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	t.Setenv(LongVariable, "")
	seen := map[int]bool{}
	for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"} {
		t.Setenv(SeedVariable, seed)
		one, other := Sample(NewSampler(t), 3, all), Sample(NewSampler(t), 3, all)
		if len(one) != 3 || !slices.IsSorted(one) || !slices.Equal(one, other) {
			t.Errorf("seed %s: %v, and again %v", seed, one, other)
		}
		for _, n := range one {
			seen[n] = true
		}
	}
	if len(seen) < 8 {
		t.Errorf("12 seeds chose %v alone", seen)
	}
	t.Setenv(LongVariable, "1")
	if got := Sample(NewSampler(t), 3, all); !slices.Equal(got, all) {
		t.Errorf("a long run: %v", got)
	}
}
