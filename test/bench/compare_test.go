// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummaryIsOfSortedValues(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float64
		want   Summary
	}{
		{"none", nil, Summary{}},
		{"one", []float64{3}, Summary{3, 3, 3}},
		{"odd", []float64{9, 1, 2}, Summary{2, 1, 9}},
		{"even", []float64{4, 1, 2, 9}, Summary{3, 1, 9}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summarize(test.values)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func ns(s sample) float64 { return s.ns }

// roundsOf are rounds with these figures of ours and of stock.
func roundsOf(figures ...[2]float64) []round {
	var out []round
	for _, f := range figures {
		out = append(out, round{sample{ns: f[0]}, sample{ns: f[1]}})
	}
	return out
}

func TestRatioIsAboveOneWhereOursIsLess(t *testing.T) {
	c := compare(roundsOf([2]float64{10, 60}, [2]float64{20, 60}, [2]float64{40, 80}), ns)
	if c.Ratio != 3 {
		t.Errorf("the ratio of the medians 20 and 60 is %v", c.Ratio)
	}
	if want := (Summary{Median: 3, Least: 2, Most: 6}); c.Rounds != want {
		t.Errorf("the ratios of the rounds are %+v instead of %+v", c.Rounds, want)
	}
	if spread := c.Ours.Spread(); spread != 1.5 {
		t.Errorf("the spread of 10 to 40 about 20 is %v", spread)
	}
}

func TestNothingIsDividedByZero(t *testing.T) {
	if c := compare(roundsOf([2]float64{0, 5}), ns); c.Ratio != 0 || c.Ours.Spread() != 0 {
		t.Errorf("%+v", c)
	}
}
