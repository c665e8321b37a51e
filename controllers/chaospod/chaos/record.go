// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"slices"
	"time"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// Record adds the results of actions to the status. p has the status that was stored before they were done; it is not
// changed. Requests are those of the Observation. RequeueAt is when something is to be tried again, besides that of Decide.
//
// Results that are not recorded, because the process ended or the write failed, are found again by Decide, from the
// pods that are left.
func Record(p *chaosv1.ChaosPod, results []Result, now time.Time, requests []requestcount.Requests) Decision {
	return newRun(p, Observation{Now: now, Requests: requests}).recordAll(results)
}

func (r *run) recordAll(results []Result) Decision {
	for _, result := range results {
		if result.Outcome == Retry || result.Action.RunID == "" && result.Outcome != Done {
			r.requeueAt(r.now.Add(retryInterval))
			continue
		}
		c := r.status.CurrentRun
		if c == nil || c.ID != result.Action.RunID {
			continue
		}
		i := slices.IndexFunc(c.Victims, func(v chaosv1.Victim) bool {
			return v.UID == result.Action.UID && v.Outcome == chaosv1.VictimPending
		})
		if i >= 0 {
			r.recordOne(&c.Victims[i], result)
			r.apply(occurrence{event: Answered})
		}
	}
	if state := r.state(); state == Planned || state == Killing {
		if o, ok := r.nextKillEvent(); ok && r.missingVictims() <= 0 {
			r.apply(o)
		} else {
			r.requeueAt(r.now.Add(retryInterval))
		}
	}
	r.setRunConditions(r.conditions())
	return r.decision()
}

func (r *run) recordOne(v *chaosv1.Victim, result Result) {
	switch result.Outcome {
	case Done:
		outcome, reason := chaosv1.VictimEvicted, chaosv1.EventPodEvicted
		if result.Action.Verb == Delete {
			outcome, reason = chaosv1.VictimDeleted, chaosv1.EventPodDeleted
		}
		if result.Action.DryRun {
			v.Outcome = chaosv1.VictimDryRun
			return
		}
		r.recordDeath(v, outcome)
		r.addMessage(Message{Reason: reason, Victim: v.DeepCopy(),
			Text: "run " + result.Action.RunID + " killed pod " + v.Name + " on node " + v.Node})
	case Gone:
		r.recordDeath(v, chaosv1.VictimGone)
	case Blocked:
		v.Outcome, v.BlockedBy = chaosv1.VictimSkippedDisruptionBudget, text.Truncate(result.Budget, maxName)
		message := "a PodDisruptionBudget keeps pod " + v.Name + " alive"
		if v.BlockedBy != "" {
			message = "PodDisruptionBudget " + v.BlockedBy + " keeps pod " + v.Name + " alive"
		}
		r.addMessage(Message{Reason: chaosv1.EventChaosBlockedByBudget, Victim: v.DeepCopy(), Text: message})
	case Misconfigured:
		v.Outcome, v.Reason = chaosv1.VictimFailed, chaosv1.ReasonEvictionMisconfigured
	case Refused:
		v.Outcome, v.Reason = chaosv1.VictimFailed, cmp.Or(result.Reason, chaosv1.ReasonForbidden)
	}
}
