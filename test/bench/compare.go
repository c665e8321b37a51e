// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import "slices"

// Summary of the rounds.
type Summary struct {
	Median, Least, Most float64
}

// Spread is the difference of maximum and minimum as a fraction of the median; 0 if the median is 0.
func (s Summary) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.Most - s.Least) / s.Median
}

// Comparison of the two sides.
type Comparison struct {
	Ours, Stock Summary
	// Ratio is the median of stock divided by that of Fairlead.
	Ratio float64
	// Rounds are the ratios of the single rounds. On a busy machine they vary less than the figures, since both sides of
	// a round are slowed down alike.
	Rounds Summary
}

// compare compares one figure of all samples.
func compare(rounds []round, figure func(sample) float64) Comparison {
	var ours, stock, ratios []float64
	for _, r := range rounds {
		ours, stock = append(ours, figure(r.ours)), append(stock, figure(r.stock))
		ratios = append(ratios, quotient(figure(r.stock), figure(r.ours)))
	}
	c := Comparison{Ours: summarize(ours), Stock: summarize(stock), Rounds: summarize(ratios)}
	c.Ratio = quotient(c.Stock.Median, c.Ours.Median)
	return c
}

func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// summarize returns zeros if there are no values. The median of an even number of values is the mean of the middle two.
func summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Summary{
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Least:  sorted[0],
		Most:   sorted[n-1],
	}
}
