// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"time"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// clockSlack is how far a time of the status may be in the future: the clocks of two leaders differ by less. A later
// one was written before the clock was set back.
const clockSlack = time.Minute

// correctFutureTimes sets times in the future to now: what counts from them would otherwise wait for the clock. It also
// sets fields that a status written by hand may lack.
func (r *run) correctFutureTimes() {
	st := &r.status
	if st.DueAfter != nil && st.DueAfter.After(r.now.Add(clockSlack)) {
		st.DueAfter = r.timestampPtr()
	}
	if st.Halt != nil && st.Halt.Time.After(r.now.Add(clockSlack)) {
		st.Halt.Time = r.timestamp // else a human's answer of today would come before it
	}
	c := st.CurrentRun
	if c == nil {
		return
	}
	if c.StartedTime == nil || c.StartedTime.After(r.now.Add(clockSlack)) {
		c.StartedTime = r.timestampPtr()
	}
	if c.KilledTime == nil && c.Phase == chaosv1.RunVerifying || c.KilledTime != nil && c.KilledTime.After(r.now.Add(clockSlack)) {
		c.KilledTime = r.timestampPtr()
	}
	if c.KillingTime != nil && c.KillingTime.After(r.now.Add(clockSlack)) {
		c.KillingTime = r.timestampPtr()
	}
	if c.ReadyTime != nil && c.ReadyTime.After(r.now.Add(clockSlack)) {
		c.ReadyTime = r.timestampPtr()
	}
	if c.Phase != chaosv1.RunKilling && c.Phase != chaosv1.RunVerifying {
		c.Phase = chaosv1.RunPlanned
	}
	for i := range c.Victims {
		if v := &c.Victims[i]; v.Owner == nil {
			v.Owner = &chaosv1.VictimOwner{}
		}
		if v := &c.Victims[i]; v.Outcome == "" {
			v.Outcome = chaosv1.VictimPending
		}
	}
}

// midnightSlack is clockSlack for the count of a day.
const midnightSlack = 10 * time.Minute

// countDay sets the day, and how many pods were killed on it. If the status is of a later day, the clock was set back,
// and its count is of today.
func (r *run) countDay() {
	r.day = r.now.UTC().Format(time.DateOnly)
	later := r.status.KilledDay
	if later > r.day {
		if begins, err := time.Parse(time.DateOnly, later); err == nil && begins.Sub(r.now) <= midnightSlack {
			r.day = later
		}
	}
	if later >= r.day {
		r.killedToday = max(r.status.KilledToday, 0)
	}
}

// remainingToday returns how many more pods may be killed today.
func (r *run) remainingToday() int {
	if r.maxPerDay == nil {
		return chaosv1.MaxStatusVictims
	}
	return max(int(*r.maxPerDay-r.killedToday), 0)
}

// nextDay returns when the count starts again.
func (r *run) nextDay() time.Time {
	today, err := time.Parse(time.DateOnly, r.day)
	if err != nil {
		return r.now
	}
	return today.AddDate(0, 0, 1)
}

// recordDeath counts a victim that was killed.
func (r *run) recordDeath(v *chaosv1.Victim, outcome chaosv1.VictimOutcome) {
	v.Outcome = outcome
	if r.status.CurrentRun.DryRun {
		return
	}
	r.killedToday++
	r.status.KilledDay, r.status.KilledToday = r.day, r.killedToday
	r.status.CurrentRun.KilledTime = r.timestampPtr()
}
