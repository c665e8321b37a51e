// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// advance applies the events of the run under way.
func (r *run) advance() {
	if r.status.CurrentRun != nil {
		r.storeExceeded()
	}
	for range stepsAtOnce {
		var o occurrence
		var ok bool
		switch r.state() {
		case Planned, Killing:
			r.updateVictims()
			r.replaceBlocked()
			o, ok = r.nextKillEvent()
		case Verifying:
			o, ok = r.nextVerifyEvent()
		}
		if !ok {
			break
		}
		r.apply(o)
	}
}

// updateVictims records pending victims that are gone, and spares those that may not be killed any more.
func (r *run) updateVictims() {
	c, alive := r.status.CurrentRun, r.pendingPods()
	if held := r.checkStartedHeld(); held != nil {
		c.KillingTime = nil
		r.requeueAt(r.holdDeadline())
		r.hold(held)
		return // the other checks follow once the hold ends
	}
	if c.KillingTime == nil {
		c.KillingTime = r.timestampPtr()
	}
	stop, ends := r.stopReason(), c.KillingTime.Add(killTimeout)
	r.requeueAt(ends)
	timedOut := !r.now.Before(ends)
	if timedOut && stop == "" && r.unprobed() != "" {
		stop = chaosv1.ReasonProbesFailed
	}
	for i := range c.Victims {
		v := &c.Victims[i]
		if v.Outcome != chaosv1.VictimPending {
			continue
		}
		pod := alive[v.UID]
		if pod == nil { // its owner cannot be read
			if timedOut {
				r.recordDeath(v, chaosv1.VictimGone)
			}
			continue
		}
		v.Name = pod.Name // what is killed is the pod that was observed
		if reason := cmp.Or(stop, r.spareReason(r.owner(v), pod)); reason != "" {
			v.Outcome, v.Reason = chaosv1.VictimSpared, reason
		} else if timedOut {
			v.Outcome, v.Reason = chaosv1.VictimFailed, chaosv1.ReasonTimedOut
		}
	}
}

// pendingPods returns the pods of the pending victims whose owners can be read, and records the victims that are gone.
func (r *run) pendingPods() map[types.UID]*Pod {
	pods := map[types.UID]*Pod{}
	for i := range r.status.CurrentRun.Victims {
		v := &r.status.CurrentRun.Victims[i]
		owner := r.owner(v)
		if v.Outcome != chaosv1.VictimPending || r.isUnknown(owner) {
			continue
		}
		j := -1
		if owner != nil {
			j = slices.IndexFunc(owner.Pods, func(pod Pod) bool { return pod.UID == v.UID && !pod.Terminating })
		}
		if j < 0 {
			r.recordDeath(v, chaosv1.VictimGone)
			continue
		}
		pods[v.UID] = &owner.Pods[j]
	}
	return pods
}

// spareReason returns why a victim may not be killed any more; empty if it may.
func (r *run) spareReason(owner *Owner, pod *Pod) string {
	if held := r.checkOwner(owner); held != nil {
		return held.reason
	}
	why, known := r.ineligible(owner, pod)
	switch {
	case why == "":
		return ""
	case !known:
		return chaosv1.ReasonUnknown
	}
	return chaosv1.ReasonNoCandidate
}

// checkStartedHeld returns what holds a run that has started: its victims wait for the end of the hold, until
// holdDeadline. Once one was killed the others are spared, so that the run is verified at once. So are they if the
// hold is known to end too late.
func (r *run) checkStartedHeld() *hold {
	held := r.checkHeld()
	if held == nil || r.finalStopReason() != "" || r.deadCount() > 0 || !slices.ContainsFunc(r.status.CurrentRun.Victims, isPending) {
		return nil
	}
	deadline := r.holdDeadline()
	if !r.now.Before(deadline) || isCalendarReason(held.reason) && (held.until.IsZero() || !held.until.Before(deadline)) {
		return nil
	}
	return held
}

// holdDeadline returns until when a run that has started may be held.
func (r *run) holdDeadline() time.Time {
	c := r.status.CurrentRun
	due, latest := c.StartTime, c.StartTime.Add(maxHold)
	if c.ScheduledTime != nil {
		due = c.ScheduledTime
	}
	if ends := due.Add(r.startingDeadline); ends.Before(latest) {
		return ends
	}
	return latest
}

// stopReason returns why the run kills no further pod.
func (r *run) stopReason() string {
	if reason := r.finalStopReason(); reason != "" {
		return reason
	}
	if held := r.checkHeld(); held != nil {
		return held.reason
	}
	return ""
}

// finalStopReason returns why the run never kills a further pod.
func (r *run) finalStopReason() string {
	c := r.status.CurrentRun
	switch {
	case r.isDeleting():
		return chaosv1.ReasonDeleting
	case r.suspend:
		return chaosv1.ReasonSuspended
	case c.Generation != r.p.Generation:
		return chaosv1.ReasonSpecChanged
	case r.observed.BlockedBy.Reason != "":
		return r.observed.BlockedBy.Reason
	case r.invalid() != "":
		return chaosv1.ReasonInvalidSpec
	case r.requests().Exceeded() != "":
		return chaosv1.ReasonProbesFailed
	}
	return ""
}

// replaceBlocked chooses others for victims that disruption budgets kept alive: other pods of the same owners, or of
// owners that have lost none. If several budgets match a pod, its owner is left out. They are Pending in the status
// that is stored before they are killed.
func (r *run) replaceBlocked() {
	c := r.status.CurrentRun
	open := min(r.missingVictims(), chaosv1.MaxStatusVictims-len(c.Victims))
	if open <= 0 || r.stopReason() != "" || r.observed.Unknown != "" || !r.now.Before(c.KillingTime.Add(killTimeout)) {
		return
	}
	if free := r.observed.Others.Free; free > 0 {
		open = min(open, free)
	}
	tried, hit, claimed := map[types.UID]bool{}, map[types.UID]bool{}, map[types.UID]bool{}
	for i := range c.Victims {
		v := &c.Victims[i]
		tried[v.UID], claimed[v.Owner.UID] = true, true
		hit[v.Owner.UID] = hit[v.Owner.UID] || v.Outcome != chaosv1.VictimSkippedDisruptionBudget
	}
	fit, _ := r.eligibleOwners(func(owner *Owner, pod *Pod) bool {
		return hit[owner.UID] || tried[pod.UID] || r.observed.Others.Free <= 0 && !claimed[owner.UID]
	})
	r.waitsForOthers, r.waitsFor = false, nil
	if len(fit) > 0 {
		c.Victims = append(c.Victims, r.pickVictims(c.Seed, fit, open)...)
	}
}

// missingVictims returns how many victims are to be replaced because budgets kept them alive.
func (r *run) missingVictims() int {
	c := r.status.CurrentRun
	n := int(c.Count)
	for i := range c.Victims {
		if c.Victims[i].Outcome != chaosv1.VictimSkippedDisruptionBudget && !isMisconfigured(c.Victims[i]) {
			n--
		}
	}
	return n
}

// nextKillEvent returns the event of a run whose victims are all decided, if they are.
func (r *run) nextKillEvent() (occurrence, bool) {
	c := r.status.CurrentRun
	counts := map[chaosv1.VictimOutcome]int{}
	o := occurrence{event: NoneKilled, reason: chaosv1.ReasonNoCandidate}
	for i := range c.Victims {
		v := &c.Victims[i]
		counts[v.Outcome]++
		if v.Reason != "" {
			o.reason = v.Reason
		}
	}
	switch {
	case counts[chaosv1.VictimPending] > 0:
		return o, false
	case !c.DryRun && r.deadCount() > 0:
		o.event = Killed
	case r.isMisconfigured():
		o.event, o.reason, o.message = EvictionMisconfigured, chaosv1.ReasonEvictionMisconfigured, r.misconfiguredText()
	case c.DryRun:
		o.event = DryRunEnded
	case counts[chaosv1.VictimFailed] > 0:
		o.event = Failed
		o.message = "no pod could be killed: " + r.victimsText()
	case counts[chaosv1.VictimSkippedDisruptionBudget] > 0 && counts[chaosv1.VictimSpared] == 0:
		o.reason, o.message = chaosv1.ReasonBudgetBlocked, "disruption budgets allow no eviction: "+r.victimsText()
	default:
		o.message = "no pod was killed: " + r.victimsText()
		if o.reason == chaosv1.ReasonProbesFailed {
			o.message = cmp.Or(r.requests().Exceeded(), r.unprobed()) + "; " + o.message
		}
	}
	return o, true
}

// isMisconfigured reports whether the eviction API can decide about no workload of the target: the pods of one that it
// cannot decide about keep no other workload from the next run.
func (r *run) isMisconfigured() bool {
	failed := map[types.UID]bool{}
	for _, v := range r.status.CurrentRun.Victims {
		if !isMisconfigured(v) {
			return false
		}
		failed[v.Owner.UID] = true
	}
	isOther := func(owner Owner) bool {
		return !failed[owner.UID] && (owner.Unknown != "" || slices.ContainsFunc(owner.Pods, func(pod Pod) bool { return pod.Selected }))
	}
	return len(failed) > 0 && r.observed.Unknown == "" && !slices.ContainsFunc(r.owners, isOther)
}

// addKills adds the actions that kill the pending victims.
func (r *run) addKills() {
	c := r.status.CurrentRun
	if c == nil || c.Phase == chaosv1.RunVerifying || c.KillingTime == nil {
		return
	}
	if r.awaitsProbes() {
		return
	}
	for i := range c.Victims {
		v := &c.Victims[i]
		if v.Outcome != chaosv1.VictimPending || r.isUnknown(r.owner(v)) {
			continue
		}
		r.actions = append(r.actions, Action{
			Verb: r.verb, RunID: c.ID, Pod: v.Name, UID: v.UID, DryRun: c.DryRun, GracePeriodSeconds: r.grace,
		})
	}
	if len(r.actions) > 0 {
		r.requeueAt(r.now.Add(retryInterval))
	}
}
