// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"testing"
	"time"
)

var ( // one moment, and the times around it
	now    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	delays = Delays{Overlap: time.Minute, Settle: 10 * time.Second, ReplicaSync: 30 * time.Second, LeafLifetime: time.Hour}
	later  = now.Add(24 * time.Hour)
)

func TestDecide(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for title, test := range map[string]struct {
		state State
		facts Facts
		want  Decision
	}{
		"nothing is wanted":      {State{Phase: Stable}, Facts{Expiry: later}, Decision{}},
		"another root is wanted": {State{Phase: Stable}, Facts{Expiry: later, Due: true}, Decision{Event: Due}},

		"published, not looked yet":          {State{Phase: Publishing, Since: now}, Facts{Expiry: later}, Decision{CheckBundle: true, RecheckAt: later}},
		"published, not there":               {State{Phase: Publishing, Since: ago(time.Hour)}, Facts{Expiry: later, Propagation: Missing}, Decision{CheckBundle: true, RecheckAt: later}},
		"published and seen":                 {State{Phase: Publishing, Since: now}, Facts{Expiry: later, Propagation: Complete}, Decision{Event: Propagated}},
		"published, expired":                 {State{Phase: Publishing, Since: now}, Facts{Expiry: now}, Decision{Event: Expired}},
		"published, expired, but seen":       {State{Phase: Publishing, Since: now}, Facts{Expiry: now, Propagation: Complete}, Decision{Event: Expired}},
		"published unobservably":             {State{Phase: Publishing, Since: now}, Facts{Expiry: later, Unobservable: true}, Decision{RecheckAt: now.Add(time.Minute)}},
		"published unobservably a while ago": {State{Phase: Publishing, Since: ago(time.Minute)}, Facts{Expiry: later, Unobservable: true}, Decision{Event: Propagated}},
		"unobservable, and expires before":   {State{Phase: Publishing, Since: now}, Facts{Expiry: now.Add(time.Second), Unobservable: true}, Decision{RecheckAt: now.Add(time.Second)}},

		"observed just now":         {State{Phase: Observed, Since: now}, Facts{Expiry: later}, Decision{RecheckAt: now.Add(10 * time.Second)}},
		"observed, taken back":      {State{Phase: Observed, Since: now}, Facts{Expiry: later, Propagation: Missing}, Decision{Event: Withdrawn}},
		"observed, to look again":   {State{Phase: Observed, Since: ago(10 * time.Second)}, Facts{Expiry: later}, Decision{CheckBundle: true, RecheckAt: later}},
		"observed, and still there": {State{Phase: Observed, Since: ago(10 * time.Second)}, Facts{Expiry: later, Propagation: Complete}, Decision{Event: Settled}},
		"observed unobservably":     {State{Phase: Observed, Since: ago(10 * time.Second)}, Facts{Expiry: later, Unobservable: true}, Decision{Event: Settled}},
		"observed, expired":         {State{Phase: Observed, Since: now}, Facts{Expiry: now}, Decision{Event: Expired}},

		"signs, observed":             {State{Phase: Signing, Since: now, Observed: true}, Facts{FormerExpiry: later}, Decision{RecheckAt: now.Add(30 * time.Second)}},
		"signs, known to all":         {State{Phase: Signing, Since: ago(30 * time.Second), Observed: true}, Facts{FormerExpiry: later}, Decision{Event: ReplicasSynced}},
		"signs unseen":                {State{Phase: Signing, Since: ago(time.Hour)}, Facts{FormerExpiry: later}, Decision{CheckBundle: true, RecheckAt: later}},
		"signs, now seen":             {State{Phase: Signing, Since: now}, Facts{FormerExpiry: later, Propagation: Complete}, Decision{Event: Propagated}},
		"signs, no other could":       {State{Phase: Signing, Since: now}, Facts{FormerExpiry: now}, Decision{Event: Propagated}},
		"signs unobservably":          {State{Phase: Signing, Since: now}, Facts{FormerExpiry: later, Unobservable: true}, Decision{RecheckAt: now.Add(time.Minute)}},
		"signs unobservably a while":  {State{Phase: Signing, Since: ago(time.Minute)}, Facts{FormerExpiry: later, Unobservable: true}, Decision{Event: Propagated}},
		"retires":                     {State{Phase: Retiring, Since: now}, Facts{FormerExpiry: later}, Decision{RecheckAt: now.Add(time.Hour)}},
		"retires, expires before":     {State{Phase: Retiring, Since: now}, Facts{FormerExpiry: now.Add(time.Second)}, Decision{RecheckAt: now.Add(time.Second)}},
		"retires, and nothing lives":  {State{Phase: Retiring, Since: ago(time.Hour)}, Facts{FormerExpiry: later}, Decision{Event: FormerExpired}},
		"retires what is not trusted": {State{Phase: Retiring, Since: now}, Facts{}, Decision{Event: FormerExpired}},
	} {
		test.facts.Now = now
		if got := delays.Decide(test.state, test.facts); got != test.want {
			t.Errorf("%s: %+v, want %+v", title, got, test.want)
		}
	}
}

// An event without a transition in its phase would block the rotation.
func TestEveryEventThatIsDecidedIsInTheTable(t *testing.T) {
	reached := map[Transition]bool{}
	times := []time.Time{{}, now.Add(-2 * time.Hour), now, later}
	for _, phase := range Phases() {
		for _, since := range times {
			for _, expiry := range times {
				for bits := range 24 {
					facts := Facts{Now: now, Expiry: expiry, FormerExpiry: expiry, Due: bits&1 != 0, Unobservable: bits&2 != 0, Propagation: Propagation(bits / 8)}
					event := delays.Decide(State{Phase: phase, Since: since, Observed: bits&4 != 0}, facts).Event
					if event == "" {
						continue
					}
					row, found := Next(phase, event)
					if !found {
						t.Errorf("%s in phase %s leads nowhere", event, phase)
					}
					reached[row] = true
				}
			}
		}
	}
	for _, row := range Table() {
		if !reached[row] {
			t.Errorf("nothing leads to %+v", row)
		}
	}
}

func TestARootSignsUnseenOnlyWhereTheFormerOneHasExpired(t *testing.T) {
	for _, row := range Table() {
		signs := row.To == Signing && row.From != Signing
		switch {
		case signs && row.On == Expired && row.Effect != PromoteUnobserved, signs && row.On != Expired && (row.From != Observed || row.Effect != Promote):
			t.Errorf("%+v", row)
		case !signs && (row.Effect == Promote || row.Effect == PromoteUnobserved):
			t.Errorf("%+v", row)
		}
	}
}

func TestEachPhaseLeadsToEachOther(t *testing.T) {
	for _, from := range Phases() {
		reached := map[Phase]bool{from: true}
		for range Phases() {
			for _, row := range Table() {
				if reached[row.From] {
					reached[row.To] = true
				}
			}
		}
		if len(reached) != len(Phases()) {
			t.Errorf("from %s only %v is reached", from, reached)
		}
	}
	seen := map[[2]string]bool{}
	for _, row := range Table() {
		key := [2]string{string(row.From), string(row.On)}
		if seen[key] {
			t.Errorf("%v is there twice", key)
		}
		seen[key] = true
	}
	if _, found := Next(Retiring, Due); found {
		t.Error("a rotation begins within another")
	}
}
