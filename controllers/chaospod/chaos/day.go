// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// correctFutureTimes sets times in the future to now: what counts from them would otherwise wait for the clock. It
// returns by how much the latest one was ahead. It also sets fields that a status written by hand may lack.
func (r *run) correctFutureTimes() (ahead time.Duration) {
	st := &r.status
	times := []*metav1.Time{st.DueAfterTime}
	if st.Halt != nil {
		times = append(times, &st.Halt.StartTime) // else a user's annotation of today would come before it
	}
	if c := st.CurrentRun; c != nil {
		r.completeRun(c)
		times = append(times, c.StartTime, c.KilledTime, c.KillingTime, c.ReadyTime)
	}
	for _, at := range times {
		if at != nil && at.After(r.now.Add(rules.ClockSlack)) {
			ahead = max(ahead, at.Sub(r.now))
			*at = r.timestamp
		}
	}
	return ahead
}

// completeRun sets the fields of a run that it cannot be without.
func (r *run) completeRun(c *chaosv1.CurrentRun) {
	if c.StartTime == nil {
		c.StartTime = r.timestampPtr()
	}
	if c.KilledTime == nil && c.Phase == chaosv1.RunVerifying {
		c.KilledTime = r.timestampPtr()
	}
	if c.Phase != chaosv1.RunKilling && c.Phase != chaosv1.RunVerifying {
		c.Phase = chaosv1.RunPlanned
	}
	for i := range c.Victims {
		v := &c.Victims[i]
		if v.Owner == nil {
			v.Owner = &chaosv1.VictimOwner{}
		}
		if v.Outcome == "" {
			v.Outcome = chaosv1.VictimPending
		}
	}
}

// midnightSlack is rules.ClockSlack for the count of a day.
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
