// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

const (
	// killFor is how long a victim is tried to be killed. One of which nothing is known by then may
	// have died, and counts as dead.
	killFor = 2 * time.Minute
	// holdFor is how long a run that has begun is held at most: it keeps others from its workloads.
	holdFor = 10 * time.Minute
	// repeatAfter is the wait before something is tried again that nothing else would bring back.
	repeatAfter = time.Second
	// stepsAtOnce bounds how many phases a run can go through in one decision.
	stepsAtOnce = 4
)

// advance takes the run under way as far as it has come.
func (r *run) advance() {
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

// updateVictims looks what has become of victims of which no answer is known, and spares those that may not die
// any more.
func (r *run) updateVictims() {
	c := r.status.CurrentRun
	alive := map[*chaosv1.Victim]*Pod{}
	for i := range c.Victims {
		v := &c.Victims[i]
		owner := r.owner(v)
		if v.Outcome != chaosv1.VictimPending || r.isUnknown(owner) {
			continue
		}
		if owner != nil {
			if j := slices.IndexFunc(owner.Pods, func(pod Pod) bool { return pod.UID == v.UID && !pod.Terminating }); j >= 0 {
				alive[v] = &owner.Pods[j]
				continue
			}
		}
		r.recordDeath(v, chaosv1.VictimGone)
	}
	if held := r.checkStartedHeld(); held != nil {
		c.KillingTime = nil
		r.requeueAt(r.holdDeadline())
		r.hold(held)
		return // all else is asked once they may die
	}
	if c.KillingTime == nil {
		c.KillingTime = r.timestampPtr()
	}
	stop, ends := r.stopReason(), c.KillingTime.Add(killFor)
	r.requeueAt(ends)
	for i := range c.Victims {
		v := &c.Victims[i]
		if v.Outcome != chaosv1.VictimPending {
			continue
		}
		owner, pod := r.owner(v), alive[v]
		if pod == nil { // nothing is known of it
			if !r.now.Before(ends) {
				r.recordDeath(v, chaosv1.VictimGone)
			}
			continue
		}
		why := stop
		if held := r.checkOwner(owner); why == "" && held != nil {
			why = held.reason
		}
		if why == "" && !r.isEligible(owner, pod) {
			why = chaosv1.ReasonNoCandidate
		}
		switch {
		case why != "":
			v.Outcome, v.Reason = chaosv1.VictimSpared, why
		case !r.now.Before(ends):
			v.Outcome, v.Reason = chaosv1.VictimFailed, chaosv1.ReasonTimedOut
		}
	}
}

// checkStartedHeld is what holds a run that has begun: its victims wait for it to end, until the deadline of the
// run. Once one has died the others are spared, so that what the run has done is verified at once. So are
// they where the end is known and comes too late.
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

// holdDeadline is until when a run that has begun may be held.
func (r *run) holdDeadline() time.Time {
	c := r.status.CurrentRun
	due, most := c.StartedTime, c.StartedTime.Add(holdFor)
	if c.ScheduledTime != nil {
		due = c.ScheduledTime
	}
	if ends := due.Add(r.startingDeadline); ends.Before(most) {
		return ends
	}
	return most
}

// stopReason is why no further pod of the run dies.
func (r *run) stopReason() string {
	if why := r.finalStopReason(); why != "" {
		return why
	}
	if held := r.checkHeld(); held != nil {
		return held.reason
	}
	return ""
}

// finalStopReason is why no further pod of the run dies, whatever may end.
func (r *run) finalStopReason() string {
	c := r.status.CurrentRun
	switch {
	case slices.ContainsFunc(c.Victims, isMisconfigured):
		return chaosv1.ReasonEvictionMisconfigured
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
	}
	return ""
}

// replaceBlocked chooses others for victims that disruption budgets kept alive: other pods of the same owners,
// or of owners that have lost none. They are Pending in the status that is stored before they die.
func (r *run) replaceBlocked() {
	c := r.status.CurrentRun
	open := min(r.missingVictims(), chaosv1.MaxStatusVictims-len(c.Victims))
	if open <= 0 || r.stopReason() != "" || r.observed.Unknown != "" || !r.now.Before(c.KillingTime.Add(killFor)) {
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

// missingVictims is how many victims are still to be found, in place of those that budgets kept alive.
func (r *run) missingVictims() int {
	c := r.status.CurrentRun
	n := int(c.Count)
	for i := range c.Victims {
		if c.Victims[i].Outcome != chaosv1.VictimSkippedDisruptionBudget {
			n--
		}
	}
	return n
}

// nextKillEvent says what has come of a run of which every victim is decided on.
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
	case slices.ContainsFunc(c.Victims, isMisconfigured):
		o.event, o.reason, o.message = EvictionMisconfigured, chaosv1.ReasonEvictionMisconfigured, r.misconfiguredText()
	case c.DryRun:
		o.event = DryRunEnded
	case counts[chaosv1.VictimFailed] > 0:
		o.event = Failed
		o.message = "no pod could be killed: " + r.victimsText()
	case counts[chaosv1.VictimSkippedDisruptionBudget] > 0 && counts[chaosv1.VictimSpared] == 0:
		o.reason, o.message = chaosv1.ReasonBudgetBlocked, "disruption budgets let no pod go: "+r.victimsText()
	default:
		o.message = "no pod was killed: " + r.victimsText()
	}
	return o, true
}

// deadCount is how many victims died.
func (r *run) deadCount() int {
	n := 0
	for i := range r.status.CurrentRun.Victims {
		if isDead(r.status.CurrentRun.Victims[i].Outcome) {
			n++
		}
	}
	return n
}

func isDead(o chaosv1.VictimOutcome) bool {
	return o == chaosv1.VictimEvicted || o == chaosv1.VictimDeleted || o == chaosv1.VictimGone
}

func isPending(v chaosv1.Victim) bool { return v.Outcome == chaosv1.VictimPending }

func isMisconfigured(v chaosv1.Victim) bool {
	return v.Reason == chaosv1.ReasonEvictionMisconfigured && v.Outcome == chaosv1.VictimFailed
}

// nextVerifyEvent is what has become of the owners. What is good comes before what is too late: while nothing
// looked, time has passed but the owners have not waited.
func (r *run) nextVerifyEvent() (occurrence, bool) {
	c := r.status.CurrentRun
	dead := map[types.UID]bool{}
	for i := range c.Victims {
		dead[c.Victims[i].UID] = isDead(c.Victims[i].Outcome)
	}
	var gone, short []string
	var back time.Time
	ends := c.KilledTime.Add(r.recoveryTimeout)
	for i := range c.Victims {
		v := &c.Victims[i]
		if !isDead(v.Outcome) {
			continue
		}
		owner := r.owner(v)
		name := v.Owner.Kind + " " + v.Owner.Name
		switch {
		case r.isUnknown(owner):
			short = append(short, name+" cannot be read")
		case owner == nil || owner.Desired == 0:
			gone = append(gone, name)
		default:
			wanted := int(min(v.ReadyBefore, owner.Desired))
			switch ready, available, relapse := owner.ready(dead), r.available(owner, dead), r.readyAgainSince(owner, wanted, dead); {
			case ready < wanted:
				short = append(short, fmt.Sprintf("%s has %d of %d pods ready", name, ready, wanted))
			case available < wanted:
				short = append(short, fmt.Sprintf("%s has %d of %d pods ready for %s", name, available, wanted, owner.MinReady))
			case relapse.After(ends):
				short = append(short, name+" did not keep its pods ready")
			case relapse.After(back):
				back = relapse
			}
		}
	}
	switch {
	case len(short) > 0:
		c.ReadyTime = nil
	case c.ReadyTime == nil:
		c.ReadyTime = r.timestampPtr()
	case !back.IsZero():
		c.ReadyTime = ptr.To(stampOf(back))
	}
	switch {
	case len(short) > 0 && r.now.Before(ends):
		r.requeueAt(ends)
		return occurrence{}, false
	case len(short) > 0 && !r.haltOnFailure:
		return occurrence{event: TimedOutTolerated, reason: chaosv1.ReasonRecoveryFailed, message: some(short)}, true
	case len(short) > 0:
		return occurrence{event: TimedOut, reason: chaosv1.ReasonRecoveryFailed, message: some(short)}, true
	case len(gone) == 0 && r.now.Before(c.ReadyTime.Add(r.soak)):
		r.requeueAt(c.ReadyTime.Add(r.soak))
		return occurrence{}, false
	case slices.ContainsFunc(c.Victims, isMisconfigured):
		return occurrence{event: EvictionMisconfigured, reason: chaosv1.ReasonEvictionMisconfigured, message: r.misconfiguredText()}, true
	case len(gone) > 0:
		return occurrence{event: TargetGone, reason: chaosv1.ReasonTargetGone, message: "deleted or scaled to zero before it recovered: " + some(gone)}, true
	}
	return occurrence{event: Recovered, reason: chaosv1.ReasonRecovered, message: "died: " + r.victimsText()}, true
}

// available counts the pods that have been ready for as long as the workload demands, without some: one
// that was ready for a moment is no recovery where minReadySeconds says so.
func (r *run) available(owner *Owner, without map[types.UID]bool) int {
	n := 0
	for i := range owner.Pods {
		pod := &owner.Pods[i]
		if !pod.ready() || without[pod.UID] {
			continue
		}
		if r.now.Sub(pod.ReadySince) < owner.MinReady && owner.MinReady > 0 {
			r.requeueAfter(pod.ReadySince, owner.MinReady)
			continue
		}
		n++
	}
	return n
}

// readyAgainSince is when a pod was ready again that an owner had lost since readyTime, and that it cannot do
// without; zero where there is none. It tells what happened while nothing looked. Pods that were made since
// have taken the place of others, as in a rollout.
func (r *run) readyAgainSince(owner *Owner, wanted int, without map[types.UID]bool) time.Time {
	var last time.Time
	since := r.status.CurrentRun.ReadyTime
	if since == nil {
		return last
	}
	for i := range owner.Pods {
		pod := &owner.Pods[i]
		switch {
		case !pod.ready() || without[pod.UID]:
		case !pod.ReadySince.After(since.Time), pod.ReadySince.After(r.now), pod.Created.After(since.Time):
			wanted--
		case pod.ReadySince.After(last):
			last = pod.ReadySince
		}
	}
	if wanted <= 0 {
		return time.Time{}
	}
	return last
}

// addKills asks for the death of the victims that are still to die. They are in the status that is stored
// before: see the package.
func (r *run) addKills() {
	c := r.status.CurrentRun
	if c == nil || c.Phase == chaosv1.RunVerifying || c.KillingTime == nil {
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
		r.requeueAt(r.now.Add(repeatAfter))
	}
}
