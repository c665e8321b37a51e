// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// Forecast predicts the restart of one target for the sources that changed.
type Forecast struct {
	Target common.WorkloadReference
	Wave   int32
	// Changed are the signals that differ from their baselines.
	Changed []*Signal
	// Holds are all reasons for which the restart does not start now, in the order in which Decide looks at them.
	Holds []Hold
}

// Hold is one reason for which a restart does not start.
type Hold struct {
	// Reason and Message are those of the condition Waiting.
	Reason, Message string
	// Until is when it may end by time alone; zero for never.
	Until time.Time
}

// Foresee returns the restarts that Decide would consider, in the order in which it would start them, with all that holds each:
// Decide stops at the first reason. Targets that changed sources do not ask for are left out. The status is that of p with the
// requests, for a later call.
func Foresee(p *autorebootv1.RebootPolicy, o Observation) ([]Forecast, autorebootv1.RebootPolicyStatus) {
	r := newRun(p, o)
	r.dropGone()
	r.ignoreInitialRequest()
	r.trackTargets()
	r.endHalt()
	r.evaluateTriggers()
	var found []Forecast
	queue := r.queue()
	r.approve(queue)
	for _, t := range queue {
		if len(t.requested.dated) == 0 {
			continue
		}
		f := Forecast{Target: t.id(), Wave: t.workload.Wave, Changed: t.requested.dated}
		for _, check := range r.checks() {
			if v, holds := check(t); holds {
				f.Holds = append(f.Holds, v.hold())
			}
		}
		found = append(found, f)
	}
	return append(found, r.foreseeInFlight()...), r.status
}

// foreseeInFlight returns the targets whose restart is in flight, and that are asked to restart again after it.
func (r *run) foreseeInFlight() (found []Forecast) {
	for i := range r.targets {
		t := &r.targets[i]
		flying := r.inFlight(t.id())
		if flying == nil || t.workload.Unselected {
			continue
		}
		if q := r.requestOf(t); len(q.dated) > 0 {
			found = append(found, Forecast{Target: t.id(), Wave: t.workload.Wave, Changed: q.dated, Holds: []Hold{{
				Reason: autorebootv1.ReasonRolloutInProgress, Message: "its restart " + flying.ID + " is in flight, and another one follows it",
			}}})
		}
	}
	return found
}

// hold is the reason of an admission that does not start the restart.
func (v *admission) hold() Hold {
	reason := v.reason
	if v.event == OverLimit {
		reason = autorebootv1.ReasonLimitReached
	}
	return Hold{Reason: reason, Message: v.message, Until: v.until}
}

// Latest returns when the last of the holds ends that end by time, and whether all do.
func (f *Forecast) Latest() (until time.Time, all bool) {
	all = !slices.ContainsFunc(f.Holds, func(h Hold) bool { return h.Until.IsZero() })
	for _, h := range f.Holds {
		until = latest(until, h.Until)
	}
	return until, all
}
