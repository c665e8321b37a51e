// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math/rand/v2"
	"testing"
)

// applyResults counts results, written as + and -, with thresholds 2 and 3.
func applyResults(c counter, results string) counter {
	for _, r := range results {
		c = c.add(r == '+').decide(2, 3, false)
	}
	return c
}

func TestResultsInARowDecide(t *testing.T) {
	for _, tc := range []struct {
		from    condition
		results string
		want    condition
	}{
		{unknown, "", unknown},
		{unknown, "+", healthy},
		{unknown, "-", unhealthy},
		{unknown, "-+", unhealthy},
		{unknown, "-++", healthy},
		{unknown, "+--", healthy},
		{unknown, "+---", unhealthy},
		{healthy, "-", healthy},
		{healthy, "--", healthy},
		{healthy, "---", unhealthy},
		{healthy, "--+--+--", healthy},
		{healthy, "---+", unhealthy},
		{healthy, "---+-+-+", unhealthy},
		{healthy, "---++", healthy},
		{unhealthy, "+", unhealthy},
		{unhealthy, "+-+", unhealthy},
		{unhealthy, "++", healthy},
		{unhealthy, "-", unhealthy},
	} {
		if got := applyResults(counter{condition: tc.from}, tc.results); got.condition != tc.want {
			t.Errorf("%d after %q is %d, want %d", tc.from, tc.results, got.condition, tc.want)
		}
	}
}

func TestPatienceIsThatNoFailureDecidesAlone(t *testing.T) {
	for _, tc := range []struct {
		from    condition
		results string
		want    condition
	}{
		{unknown, "", unknown},
		{unknown, "+", healthy},
		{unknown, "--", unknown},
		{unknown, "--+", healthy},
		{unknown, "---", unhealthy},
		{unknown, "---+", unhealthy},
		{unknown, "---++", healthy},
		{healthy, "--", healthy},
		{healthy, "---", unhealthy},
		{unhealthy, "+", unhealthy},
	} {
		c := counter{condition: tc.from}
		for _, r := range tc.results {
			c = c.add(r == '+').decide(2, 3, true)
		}
		if c.condition != tc.want {
			t.Errorf("%d after %q is %d, want %d", tc.from, tc.results, c.condition, tc.want)
		}
	}
}

func TestALongStreakDoesNotOverflow(t *testing.T) {
	c := counter{condition: healthy}
	for range 1 << 17 {
		c = c.add(false)
	}
	if c.count != -maxStreak {
		t.Errorf("count %d, want %d", c.count, -maxStreak)
	}
	if c.decide(1, 100, false).condition != unhealthy {
		t.Error("the streak decides nothing")
	}
}

// TestTheCounterAgreesWithTheWholeHistory compares with a model that looks back over all results.
func TestTheCounterAgreesWithTheWholeHistory(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 2))
		toHealthy, toUnhealthy := 1+random.IntN(4), 1+random.IntN(4)
		bias := random.Float64()
		c := counter{condition: condition(random.IntN(3))}
		state := c.condition
		var history []bool
		fellAt := -1
		for range 60 {
			history = append(history, random.Float64() < bias)
			last, row := history[len(history)-1], 0
			for row < len(history) && history[len(history)-1-row] == last {
				row++
			}
			if last {
				fellAt = -1
			}
			switch {
			case state == unknown && last, state == unhealthy && last && row >= toHealthy:
				state = healthy
			case state == unknown:
				state = unhealthy
			case state == healthy && !last && row >= toUnhealthy:
				state, fellAt = unhealthy, len(history)
			}
			c = c.add(last).decide(toHealthy, toUnhealthy, false)
			if c.condition != state || c.fell != (fellAt >= 0) {
				t.Fatalf("seed %d: after %v it is %+v, want condition %d, fell %t", seed, history, c, state, fellAt >= 0)
			}
		}
	}
}
