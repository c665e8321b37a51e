// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"testing"
	"time"
)

var ( // one moment, and the times around it
	now   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	pace  = Pace{Overlap: time.Minute, Settle: 10 * time.Second, Notice: 30 * time.Second, Linger: time.Hour}
	later = now.Add(24 * time.Hour)
)

func TestJudge(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for title, test := range map[string]struct {
		state State
		facts Facts
		want  Verdict
	}{
		"nothing is wanted":      {State{Phase: Stable}, Facts{Expiry: later}, Verdict{}},
		"another root is wanted": {State{Phase: Stable}, Facts{Expiry: later, Wanted: true}, Verdict{Event: Wanted}},

		"published, not looked yet":     {State{Phase: Publishing, Since: now}, Facts{Expiry: later}, Verdict{Look: true, Next: later}},
		"published, not there":          {State{Phase: Publishing, Since: ago(time.Hour)}, Facts{Expiry: later, Sight: Missing}, Verdict{Look: true, Next: later}},
		"published and seen":            {State{Phase: Publishing, Since: now}, Facts{Expiry: later, Sight: Standing}, Verdict{Event: Seen}},
		"published, expired":            {State{Phase: Publishing, Since: now}, Facts{Expiry: now}, Verdict{Event: Expired}},
		"published, expired, but seen":  {State{Phase: Publishing, Since: now}, Facts{Expiry: now, Sight: Standing}, Verdict{Event: Expired}},
		"published blindly":             {State{Phase: Publishing, Since: now}, Facts{Expiry: later, Blind: true}, Verdict{Next: now.Add(time.Minute)}},
		"published blindly a while ago": {State{Phase: Publishing, Since: ago(time.Minute)}, Facts{Expiry: later, Blind: true}, Verdict{Event: Seen}},
		"blindly, and expires before":   {State{Phase: Publishing, Since: now}, Facts{Expiry: now.Add(time.Second), Blind: true}, Verdict{Next: now.Add(time.Second)}},

		"observed just now":         {State{Phase: Observed, Since: now}, Facts{Expiry: later}, Verdict{Next: now.Add(10 * time.Second)}},
		"observed, taken back":      {State{Phase: Observed, Since: now}, Facts{Expiry: later, Sight: Missing}, Verdict{Event: Unseen}},
		"observed, to look again":   {State{Phase: Observed, Since: ago(10 * time.Second)}, Facts{Expiry: later}, Verdict{Look: true, Next: later}},
		"observed, and still there": {State{Phase: Observed, Since: ago(10 * time.Second)}, Facts{Expiry: later, Sight: Standing}, Verdict{Event: Settled}},
		"observed blindly":          {State{Phase: Observed, Since: ago(10 * time.Second)}, Facts{Expiry: later, Blind: true}, Verdict{Event: Settled}},
		"observed, expired":         {State{Phase: Observed, Since: now}, Facts{Expiry: now}, Verdict{Event: Expired}},

		"signs, vouched for":          {State{Phase: Signing, Since: now, Vouched: true}, Facts{FormerExpiry: later}, Verdict{Next: now.Add(30 * time.Second)}},
		"signs, noticed by all":       {State{Phase: Signing, Since: ago(30 * time.Second), Vouched: true}, Facts{FormerExpiry: later}, Verdict{Event: Noticed}},
		"signs unseen":                {State{Phase: Signing, Since: ago(time.Hour)}, Facts{FormerExpiry: later}, Verdict{Look: true, Next: later}},
		"signs, now seen":             {State{Phase: Signing, Since: now}, Facts{FormerExpiry: later, Sight: Standing}, Verdict{Event: Seen}},
		"signs, no other could":       {State{Phase: Signing, Since: now}, Facts{FormerExpiry: now}, Verdict{Event: Seen}},
		"signs blindly":               {State{Phase: Signing, Since: now}, Facts{FormerExpiry: later, Blind: true}, Verdict{Next: now.Add(time.Minute)}},
		"signs blindly a while":       {State{Phase: Signing, Since: ago(time.Minute)}, Facts{FormerExpiry: later, Blind: true}, Verdict{Event: Seen}},
		"retires":                     {State{Phase: Retiring, Since: now}, Facts{FormerExpiry: later}, Verdict{Next: now.Add(time.Hour)}},
		"retires, expires before":     {State{Phase: Retiring, Since: now}, Facts{FormerExpiry: now.Add(time.Second)}, Verdict{Next: now.Add(time.Second)}},
		"retires, and nothing lives":  {State{Phase: Retiring, Since: ago(time.Hour)}, Facts{FormerExpiry: later}, Verdict{Event: Outlived}},
		"retires what is not trusted": {State{Phase: Retiring, Since: now}, Facts{}, Verdict{Event: Outlived}},
	} {
		test.facts.Now = now
		if got := pace.Judge(test.state, test.facts); got != test.want {
			t.Errorf("%s: %+v, want %+v", title, got, test.want)
		}
	}
}

// What Judge says must mean something in the phase that it says it of, or a rotation stands still.
func TestEveryEventThatIsJudgedIsInTheTable(t *testing.T) {
	met := map[Transition]bool{}
	times := []time.Time{{}, now.Add(-2 * time.Hour), now, later}
	for _, phase := range Phases() {
		for _, since := range times {
			for _, expiry := range times {
				for bits := range 24 {
					facts := Facts{Now: now, Expiry: expiry, FormerExpiry: expiry, Wanted: bits&1 != 0, Blind: bits&2 != 0, Sight: Sight(bits / 8)}
					event := pace.Judge(State{Phase: phase, Since: since, Vouched: bits&4 != 0}, facts).Event
					if event == "" {
						continue
					}
					row, found := Next(phase, event)
					if !found {
						t.Errorf("%s in phase %s leads nowhere", event, phase)
					}
					met[row] = true
				}
			}
		}
	}
	for _, row := range Table() {
		if !met[row] {
			t.Errorf("nothing leads to %+v", row)
		}
	}
}

func TestARootSignsUnseenOnlyWhereTheFormerOneHasExpired(t *testing.T) {
	for _, row := range Table() {
		signs := row.To == Signing && row.From != Signing
		switch {
		case signs && row.On == Expired && row.Do != Force, signs && row.On != Expired && (row.From != Observed || row.Do != Promote):
			t.Errorf("%+v", row)
		case !signs && (row.Do == Promote || row.Do == Force):
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
	if _, found := Next(Retiring, Wanted); found {
		t.Error("a rotation begins within another")
	}
}
