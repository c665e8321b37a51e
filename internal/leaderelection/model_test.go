// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

var (
	modelSeed  = flag.Uint64("model-seed", 0, "play this schedule of the election's model only")
	modelCount = flag.Int("model-schedules", 5000, "how many schedules of the election's model to play")
)

// tolerated is how far the rate of a clock may deviate: two that deviate by it in opposite directions are at
// the limit of (lease + renew deadline) / 2 before a lease, 15/12.5. It is more than the twelfth by which
// chrony changes a rate at most.
const tolerated = 0.09

func TestNoTwoReplicasActAtOneInstantAndOneLeadsOnceTheFaultsAreOver(t *testing.T) {
	for name, life := range map[string]bool{"lease": false, "for life": true} {
		t.Run(name, func(t *testing.T) {
			if *modelSeed != 0 {
				t.Log(randomPlan(*modelSeed, life, tolerated))
				if found := simulate(t, randomPlan(*modelSeed, life, tolerated)); found.wrong != "" {
					t.Error(found.wrong)
				}
				return
			}
			acted, terms := 0, 0
			for seed := range uint64(*modelCount) {
				p := randomPlan(seed+1, life, tolerated)
				found := simulate(t, p)
				if found.wrong != "" {
					t.Fatalf("%s\n%s\nof which these matter: %s\nagain: go test -run '%s' -model-seed=%d",
						found.wrong, p, shrink(t, p, ""), t.Name(), p.seed)
				}
				acted, terms = acted+found.acted, terms+found.terms
			}
			t.Logf("%d schedules, %d terms, %d actions", *modelCount, terms, acted)
			if terms < *modelCount || acted < 10*terms/2 {
				t.Errorf("too little happens: %d terms, %d actions", terms, acted)
			}
		})
	}
}

// A model that never finds anything proves nothing.
func TestTheModelFindsTwoLeadersWhereClocksDifferByMoreThanIsTolerated(t *testing.T) {
	for seed := range uint64(2000) {
		p := randomPlan(seed+1, false, 0.45)
		found := simulate(t, p).wrong
		if !strings.Contains(found, bothAct) {
			continue
		}
		p = shrink(t, p, bothAct)
		t.Logf("%s\n%s", found, p)
		if len(p.faults) > 3 {
			t.Errorf("%d faults are left after shrinking", len(p.faults))
		}
		return
	}
	t.Error("not found in 2000 schedules")
}

// shrink removes halves of the faults, then quarters and so on, as long as the violation remains.
func shrink(t *testing.T, p plan, wrong string) plan {
	t.Helper()
	for size := (len(p.faults) + 1) / 2; size >= 1; size /= 2 {
		for at := 0; at < len(p.faults); {
			smaller := p
			smaller.faults = slices.Delete(slices.Clone(p.faults), at, min(at+size, len(p.faults)))
			if !fails(t, smaller, wrong) {
				at += size
				continue
			}
			p = smaller
		}
	}
	return p
}

// fails simulates a plan several times, since the order at one instant varies.
func fails(t *testing.T, p plan, wrong string) bool {
	t.Helper()
	for range 10 {
		if found := simulate(t, p).wrong; found != "" && strings.Contains(found, wrong) {
			return true
		}
	}
	return false
}
