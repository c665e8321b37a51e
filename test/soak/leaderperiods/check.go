// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderperiods

import (
	"fmt"
	"slices"
	"time"
)

// Interval is a time in which a replica led, or reconciled an object.
type Interval struct {
	Replica string
	// Object is the reconciled object; empty where the replica led.
	Object   string
	From, To time.Time
}

func (i Interval) String() string {
	what := "led"
	if i.Object != "" {
		what = "reconciled " + i.Object
	}
	return fmt.Sprintf("%s %s from %s to %s", i.Replica, what, clock(i.From), clock(i.To))
}

func clock(t time.Time) string { return t.Format("15:04:05.000000") }

// Verdict is the result of checking a record.
type Verdict struct {
	// Reigns are the times of leading, by their beginning.
	Reigns []Interval
	// Reconciles is how many objects were reconciled, each time counted.
	Reconciles int
	// Faults say where two replicas did at one instant what only one may do, or where one reconciled
	// without leading. There are maxFaults at most.
	Faults []string
}

// maxFaults bounds the reported faults of a record that is wrong all over.
const maxFaults = 20

// Check looks at the record up to the time end. A replica that was killed could not write that it
// ended: deaths say when it had. What was not ended lasts to the end of the record.
func Check(events []Event, deaths map[string]time.Time, end time.Time) Verdict {
	reigns, work := intervals(events, deaths, end)
	v := Verdict{Reigns: reigns, Reconciles: len(work)}
	v.overlaps(reigns)
	v.overlaps(work)
	v.strays(reigns, work)
	return v
}

// Handovers are the times between two reigns of different replicas in which no replica led.
func (v Verdict) Handovers() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(v.Reigns); i++ {
		if v.Reigns[i].Replica != v.Reigns[i-1].Replica {
			gaps = append(gaps, v.Reigns[i].From.Sub(v.Reigns[i-1].To))
		}
	}
	return gaps
}

// Longest is the longest handover, or 0 without one.
func (v Verdict) Longest() time.Duration {
	gaps := v.Handovers()
	if len(gaps) == 0 {
		return 0
	}
	return slices.Max(gaps)
}

func (v *Verdict) fault(format string, args ...any) {
	if len(v.Faults) < maxFaults {
		v.Faults = append(v.Faults, fmt.Sprintf(format, args...))
	}
}

// overlaps finds pairs of different replicas. The intervals are sorted by their beginning, so each
// needs to be compared with the one of every other replica that lasts longest so far.
func (v *Verdict) overlaps(all []Interval) {
	last := map[string]Interval{}
	for _, one := range all {
		for replica, other := range last {
			if replica != one.Replica && one.From.Before(other.To) {
				v.fault("at %s two at once: %s, and %s", clock(one.From), other, one)
			}
		}
		if before, ok := last[one.Replica]; !ok || one.To.After(before.To) {
			last[one.Replica] = one
		}
	}
}

// strays finds work outside the reigns of who did it.
func (v *Verdict) strays(reigns, work []Interval) {
	for _, one := range work {
		covered := slices.ContainsFunc(reigns, func(r Interval) bool {
			return r.Replica == one.Replica && !one.From.Before(r.From) && !one.To.After(r.To)
		})
		if !covered {
			v.fault("without leading: %s", one)
		}
	}
}

// intervals pairs beginnings with ends, sorted by their beginning. An object is reconciled by one
// worker at a time, so a second beginning before an end is a fault of the record that shows as an
// interval without end.
func intervals(events []Event, deaths map[string]time.Time, end time.Time) (reigns, work []Interval) {
	type key struct{ replica, object string }
	open := map[key]Event{}
	add := func(from Event, to time.Time) {
		i := Interval{Replica: from.Replica, Object: from.object(), From: from.At, To: to}
		if i.Object == "" {
			reigns = append(reigns, i)
			return
		}
		work = append(work, i)
	}
	for _, e := range events {
		k := key{e.Replica, e.object()}
		began, running := open[k]
		switch {
		case e.Event == Unlead || e.Event == End:
			if running {
				add(began, e.At)
				delete(open, k)
			}
		case running:
			add(began, ended(began, deaths, end))
			open[k] = e
		default:
			open[k] = e
		}
	}
	for _, began := range open {
		add(began, ended(began, deaths, end))
	}
	byBeginning := func(a, b Interval) int { return a.From.Compare(b.From) }
	slices.SortStableFunc(reigns, byBeginning)
	slices.SortStableFunc(work, byBeginning)
	return reigns, work
}

func ended(e Event, deaths map[string]time.Time, end time.Time) time.Time {
	if died, ok := deaths[e.Replica]; ok {
		return died
	}
	return end
}
