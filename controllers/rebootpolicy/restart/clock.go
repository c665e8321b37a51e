// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// clockSlack is how far a time of the status may be in the future: the clocks of two leaders differ by less. A later one was
// written before the clock was set back, or by a leader whose clock was ahead.
const clockSlack = 10 * time.Second

// isFuture reports whether a time is by a clock that is ahead of this one.
func (r *run) isFuture(at time.Time) bool { return at.After(r.now.Add(clockSlack)) }

// futureTimes sets times that are in the future to now.
type futureTimes struct {
	now      metav1.Time
	isFuture func(time.Time) bool
	// ahead is how far the latest of them was in the future.
	ahead time.Duration
}

func (c *futureTimes) correct(times ...*metav1.Time) {
	for _, at := range times {
		if at != nil && c.isFuture(at.Time) {
			c.ahead = max(c.ahead, at.Sub(c.now.Time))
			*at = c.now
		}
	}
}

// correctFutureTimes sets times of the status that are in the future to now: what counts from them would otherwise wait until
// the clock has caught up.
func (r *run) correctFutureTimes() {
	c := &futureTimes{now: r.timestamp, isFuture: r.isFuture}
	st := &r.status
	c.correct(st.LastRestartTime)
	if st.Halt != nil {
		c.correct(&st.Halt.StartTime) // else an annotation of now would come before it
	}
	for i := range st.History {
		c.correct(st.History[i].StartTime, st.History[i].CompletionTime)
	}
	for i := range st.InFlight {
		f := &st.InFlight[i]
		c.correct(f.StartTime, f.PhaseTime, f.BlockedTime, f.UnavailableTime)
		c.correctRefusal(f.Refusal)
	}
	for _, all := range [][]autorebootv1.TargetStatus{st.Targets, st.UnselectedTargets} {
		for i := range all {
			c.correctTarget(&all[i], r.inFlight(targetOf(all[i].Kind, all[i].Name)))
		}
	}
	if c.ahead == 0 {
		return
	}
	r.clockSkew = fmt.Sprintf("a time in the status is %s in the future, and counts as now: the clock of this replica is behind that of an earlier one, "+
		"or was set back", common.DurationOf(c.ahead.Round(time.Second)))
	r.addMessage(Message{Reason: common.EventClockSkew, Warning: true, Text: r.clockSkew})
}

// correctTarget corrects the times of a target. What was asked for after its latest restart stays later than that: it is no
// retry.
func (c *futureTimes) correctTarget(t *autorebootv1.TargetStatus, f *autorebootv1.InFlightRestart) {
	var asked []*metav1.Time
	if t.Pending != nil {
		asked = append(asked, &t.Pending.FirstRequestTime)
	}
	if f != nil && f.FirstRequestTime != nil {
		asked = append(asked, f.FirstRequestTime)
	}
	var later []*metav1.Time
	for _, since := range asked {
		if t.LastRestartTime != nil && since.After(t.LastRestartTime.Time) {
			later = append(later, since)
		}
	}
	c.correct(t.LastRestartTime)
	c.correct(asked...)
	for _, since := range later {
		if !since.After(t.LastRestartTime.Time) {
			*since = metav1.NewTime(t.LastRestartTime.Add(time.Second))
		}
	}
	if t.Pending != nil {
		c.correct(&t.Pending.LastRequestTime, t.Pending.CorrectedTime)
		c.correctRefusal(t.Pending.Refusal)
	}
	for i := range t.RecentRestartTimes {
		c.correct(&t.RecentRestartTimes[i])
	}
}

// afterPods returns when the next pod of a workload may be created: all that exist are older. Without the workload, as where a
// result is recorded, it is now.
func (r *run) afterPods(w *Workload) *metav1.Time {
	at := r.timestamp
	if w != nil {
		if newest := w.newestPod(); !newest.Before(at.Time) {
			at = metav1.NewTime(newest.Add(time.Second))
		}
	}
	return &at
}

func (c *futureTimes) correctRefusal(refusal *autorebootv1.Refusal) {
	if refusal != nil {
		c.correct(&refusal.LastAttemptTime)
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
