// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"slices"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// The time until something is tried again that no event reports.
const (
	retryInterval   = 5 * time.Second
	blockedInterval = 10 * time.Second
	refusedInterval = time.Minute
)

// unavailableFor is how long too few pods may be available during a soak: a readiness probe may fail once, and a new
// pod takes a moment to be observed.
const unavailableFor = 10 * time.Second

// stepsAtOnce bounds how many phases a restart passes in one decision.
const stepsAtOnce = 4

// advance applies the events of each restart in flight.
func (r *run) advance() {
	for i := range r.targets {
		t := &r.targets[i]
		if t.workload.Unread != "" {
			r.keepRequests(t)
			continue
		}
		for range stepsAtOnce {
			f := r.inFlight(t.id())
			if f == nil {
				break
			}
			o, ok := r.nextEvent(t, f)
			if !ok {
				r.requeueInFlight(f)
				break
			}
			r.apply(t, o)
		}
	}
}

// nextEvent returns the next event of a restart, if any. Success comes before a timeout: the workload may have
// recovered in time while there was no reconcile.
func (r *run) nextEvent(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	w := t.workload
	if w.RunsToEnd && (f.Phase != autorebootv1.PhasePlanned || w.carries(f)) {
		return nextRunEvent(f), true
	}
	if w.isReverted(f) {
		return r.failure(t, autorebootv1.ReasonTargetReverted), true
	}
	if f.Phase != autorebootv1.PhasePlanned && w.containerRestarts(f) > r.maxContainerRestarts {
		return r.failure(t, autorebootv1.ReasonContainerRestarts), true
	}
	if o, ok := r.nextProbeEvent(t, f); ok {
		return o, true
	}
	if f.Phase == autorebootv1.PhaseSoaking {
		return r.nextSoakEvent(t, f)
	}
	if o, ok := r.nextPhaseEvent(t, f); ok {
		return o, true
	}
	if o, ok := r.overtaken(t, f); ok || r.now.Before(r.deadline(f)) {
		return o, ok
	}
	if w.Unselected {
		return occurrence{event: Unselected, reason: autorebootv1.ReasonUnselected}, true
	}
	if f.Phase == autorebootv1.PhaseRollingOut && w.waitsForLost() {
		return occurrence{event: NodeLost, reason: autorebootv1.ReasonNodeUnreachable, message: w.LostText()}, true
	}
	o := r.failure(t, autorebootv1.ReasonTimedOut)
	o.message = cmp.Or(w.BlockingText(f, r.policy.Namespace), w.Stopped(f), w.shortageText(), w.LostText(), w.unreadyText(),
		w.Restarting, w.keptInPlaceText(f))
	return o, true
}

// nextRunEvent returns the next event of the restart of a workload that runs to an end, once what it runs is there: nothing of it
// has to stay available, and whether it succeeds is its own matter.
func nextRunEvent(f *autorebootv1.InFlightRestart) occurrence {
	switch f.Phase {
	case autorebootv1.PhasePlanned:
		return occurrence{event: Annotated}
	case autorebootv1.PhaseSoaking:
		return occurrence{event: Verified, message: "what it runs was begun"}
	default:
		return occurrence{event: PodsReplaced}
	}
}

// nextPhaseEvent returns the event that ends a phase before the soak, if any.
func (r *run) nextPhaseEvent(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	switch w := t.workload; f.Phase {
	case autorebootv1.PhasePlanned:
		switch {
		case w.Unselected && !w.carries(f):
			return occurrence{event: Unselected, reason: autorebootv1.ReasonUnselected}, true // nothing was done yet
		case w.carries(f):
			return occurrence{event: Annotated, generation: w.Generation}, true
		case r.evict && w.allPodsNew(f):
			return occurrence{event: EvictionStarted}, true
		}
	case autorebootv1.PhaseRollingOut:
		// Every pod is of the revision that carries the id. Their age does not count: it is measured by the clock
		// of another machine.
		isReplaced := w.Generation >= f.Generation && (w.Complete && w.isReplaced(f) || w.isReplacedButLost(f))
		return occurrence{event: PodsReplaced}, isReplaced
	case autorebootv1.PhaseEvicting:
		if w.Desired > 0 && (w.Available || w.isAvailableButLost()) && w.allPodsNewAndReady(f) {
			return occurrence{event: PodsReplaced}, true
		}
		if f.BlockedTime != nil && !r.now.Before(r.sinceRead(w, f.BlockedTime.Add(r.evictTimeout), r.evictTimeout)) {
			o := r.failure(t, autorebootv1.ReasonEvictionBlocked)
			if f.BlockedBy != "" {
				o.message = "by the PodDisruptionBudget " + w.BlockedText(f)
			}
			return o, true
		}
	}
	return occurrence{}, false
}

// overtaken ends a restart that stands still, and whose content has changed since: what it waits for may never come, and pods
// that it made do not have what changed.
func (r *run) overtaken(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	w := t.workload
	if f.Phase == autorebootv1.PhasePlanned || w.Unselected || !r.lacksContent(t) {
		return occurrence{}, false
	}
	until := timeOf(f.PhaseTime)
	if ready := w.lastReady(); !r.isFuture(ready) {
		until = latest(until, ready)
	}
	until = until.Add(standstillAfter)
	r.requeueAt(until)
	o := occurrence{event: Failed, reason: autorebootv1.ReasonContentChanged, message: "no pod had become ready for a minute"}
	return o, !r.now.Before(until)
}

// lacksContent reports whether a target has pods without content that is newer than its baselines.
func (r *run) lacksContent(t *target) bool {
	return slices.ContainsFunc(t.signals, func(s *Signal) bool {
		b := t.baseline(s)
		return r.isContent(s) && s.Unknown == "" && b != nil && b.Fingerprint != s.fingerprint() &&
			slices.ContainsFunc(t.workload.Pods, func(p Pod) bool { return !p.Terminating && !p.createdAfter(s) })
	})
}

// nextSoakEvent returns the next event of a restart that soaks, if any. Too few pods may be available for
// unavailableFor; as many as a rollout may make unavailable, and those whose successors are starting, until
// verification.timeout. Nothing is verified before all are available.
func (r *run) nextSoakEvent(t *target, f *autorebootv1.InFlightRestart) (occurrence, bool) {
	w, ends := t.workload, timeOf(f.PhaseTime).Add(r.soakTime)
	if w.Desired == 0 { // nothing is left to observe
		until := latest(ends, timeOf(f.StartTime).Add(r.timeout))
		r.requeueAt(until)
		o := r.failure(t, autorebootv1.ReasonTimedOut)
		o.message = w.Stopped(f)
		return o, !r.now.Before(until)
	}
	short := w.podsMissing(f) - w.lostPods()
	if short <= 0 {
		if f.UnavailableTime != nil { // it soaks on, without a slot
			r.release(f)
			f.UnavailableTime = nil
		}
		if r.now.Before(ends) {
			return occurrence{}, false
		}
		if o, failed, waits := r.awaitsRequests(t, f); failed || waits {
			return o, failed
		}
		return occurrence{event: Verified, message: w.verifiedText(f)}, true
	}
	if f.UnavailableTime == nil {
		f.UnavailableTime = r.timestampPtr()
	}
	until := r.sinceRead(w, f.UnavailableTime.Add(unavailableFor), unavailableFor)
	if short <= min(w.MaxUnavailable, w.podsWanted(f)-1) || short <= w.podsStarting(f) {
		until = latest(until, latest(ends, timeOf(f.StartTime).Add(r.timeout)))
	}
	if o, ok := r.overtaken(t, f); ok {
		return o, true
	}
	r.requeueAt(until)
	o := r.failure(t, autorebootv1.ReasonUnavailable)
	o.message = cmp.Or(w.shortageText(), w.LostText(), w.unreadyText())
	return o, !r.now.Before(until)
}

// failure returns the event for a restart that failed.
func (r *run) failure(t *target, reason string) occurrence {
	o := occurrence{event: Failed, reason: reason}
	exhausted := t.Attempts+1 > r.maxAttempts
	// Neither ends by itself, and a retry would fight another writer.
	final := reason == autorebootv1.ReasonTargetReverted || reason == autorebootv1.ReasonEvictionMisconfigured
	switch {
	case final && r.status.Halt == nil && reason == autorebootv1.ReasonTargetReverted:
		o.event = Reverted
	case (final || (exhausted && r.haltOnFailure)) && r.status.Halt == nil:
		o.event = FailedAndHalted
	case exhausted && !r.haltOnFailure && !final:
		o.event = FailedAndGivenUp
	}
	return o
}

// deadline returns when a restart that has not ended has failed. Each pod that is made moves it, since the one before is
// available then: a rollout that goes on has not failed, but it has no more time than one whose pods each take
// verification.timeout. The time in which the API server refuses its evictions does not count: each refusal moves it.
func (r *run) deadline(f *autorebootv1.InFlightRestart) time.Time {
	began := timeOf(f.StartTime)
	if w := r.workloads[targetOf(f.Kind, f.Name)]; w != nil && f.Phase != autorebootv1.PhasePlanned {
		most := began.Add(r.timeout * time.Duration(max(w.Desired-1, 0)))
		if newest := w.newestPod(); newest.After(began) {
			began = newest
		}
		if began.After(most) {
			began = most
		}
		began = latest(began, pausedUntil(w, f))
		if w.waitsForPromotion(f) {
			began = r.now
		}
	}
	if f.Phase == autorebootv1.PhaseEvicting {
		began = latest(began, timeOf(f.PhaseTime))
		if f.Refusal != nil {
			began = latest(began, f.Refusal.LastAttemptTime.Add(refusedInterval))
		}
	}
	return r.sinceRead(r.workloads[targetOf(f.Kind, f.Name)], began.Add(r.timeout), r.timeout)
}

// waitsForPromotion reports whether the strategy of a Rollout holds the revision of a restart: until it is promoted or aborted, or
// its pause is over, nothing has failed.
func (w *Workload) waitsForPromotion(f *autorebootv1.InFlightRestart) bool {
	return w.Kind == common.WorkloadRollout && w.RestartID == f.ID && w.Obstacle == autorebootv1.ReasonPaused
}

// pausedUntil returns when the pause of the rollout of a restart ends; that is its start where it has none.
func pausedUntil(w *Workload, f *autorebootv1.InFlightRestart) time.Time {
	return timeOf(f.StartTime).Add(w.Pause)
}

// refusedUntil returns when what was refused is tried again; zero where it may be now.
func (r *run) refusedUntil(refusal *autorebootv1.Refusal) time.Time {
	if refusal == nil {
		return time.Time{}
	}
	if until := refusal.LastAttemptTime.Add(refusedInterval); until.After(r.now) {
		return until
	}
	return time.Time{}
}

// requeueInFlight sets when a restart in flight may change by time alone.
func (r *run) requeueInFlight(f *autorebootv1.InFlightRestart) {
	if f.Phase == autorebootv1.PhaseSoaking {
		r.requeueAt(timeOf(f.PhaseTime).Add(r.soakTime))
		return
	}
	r.requeueAt(r.deadline(f))
	r.requeueAt(r.refusedUntil(f.Refusal))
	if f.Phase == autorebootv1.PhasePlanned {
		r.requeueAt(r.now.Add(retryInterval))
	}
	if w := r.workloads[targetOf(f.Kind, f.Name)]; w != nil && w.Paused {
		r.requeueAt(pausedUntil(w, f))
	}
	if w := r.workloads[targetOf(f.Kind, f.Name)]; w != nil && w.Unread == "" {
		_, at := w.evictsBlocking(f, r.now)
		r.requeueAt(at)
	}
	if f.BlockedTime != nil {
		r.requeueAt(r.now.Add(blockedInterval))
		r.requeueAt(f.BlockedTime.Add(r.evictTimeout))
	}
}

// actions returns what is due for the restarts in flight. All are idempotent: the annotation has the same values, and
// new pods are not evicted.
func (r *run) actions() []Action {
	actions := r.resumptions()
	for i := range r.status.InFlight {
		f := &r.status.InFlight[i]
		w := r.workloads[targetOf(f.Kind, f.Name)]
		if w == nil || w.Unselected || w.Unread != "" {
			continue // the policy does not select it, whatever the status says, or nothing is known of it
		}
		action := Action{Verb: Annotate, ID: f.ID, Workload: w, Started: timeOf(f.StartTime), PodCutoff: cutoffOf(f)}
		switch {
		case f.Phase == autorebootv1.PhaseEvicting && !r.refusedUntil(f.Refusal).IsZero():
		case f.Phase == autorebootv1.PhaseEvicting, f.Phase == autorebootv1.PhasePlanned && r.evict:
			action.Verb = Evict
			for _, pod := range w.podsToEvict(f, rules.Scaled(r.maxUnavailable, int(w.Desired))) {
				action.Pod = pod
				actions = append(actions, action)
			}
		case f.Phase == autorebootv1.PhasePlanned:
			actions = append(actions, action)
		case f.Phase == autorebootv1.PhaseRollingOut && r.refusedUntil(f.Refusal).IsZero():
			if pod, _ := w.evictsBlocking(f, r.now); pod != nil {
				action.Verb, action.Pod = Evict, pod
				actions = append(actions, action)
			}
		}
	}
	return actions
}

// resumptions end the pauses of rollouts whose time is over, or whose restart has ended.
func (r *run) resumptions() (actions []Action) {
	for i := range r.observed.Workloads {
		w := &r.observed.Workloads[i]
		if !w.Paused || w.Unread != "" || r.workloads[targetOf(w.Kind, w.Name)] != w {
			continue
		}
		action := Action{Verb: Resume, Workload: w}
		if f := r.inFlight(targetOf(w.Kind, w.Name)); f != nil && f.UID == w.UID {
			if f.Phase == autorebootv1.PhasePlanned || r.now.Before(pausedUntil(w, f)) {
				continue
			}
			action.ID = f.ID
		}
		actions = append(actions, action)
	}
	return actions
}

// slots returns how many slots of the cluster the restarts in flight have.
func (r *run) slots() int {
	n := 0
	for i := range r.status.InFlight {
		if r.hasSlot(&r.status.InFlight[i]) {
			n++
		}
	}
	return n
}

func (r *run) hasSlot(f *autorebootv1.InFlightRestart) bool {
	return !IsSoaking(f) && !r.observed.Others.Lapsed[f.UID]
}

// IsSoaking reports whether a restart has made its workload available again, and only observes it.
func IsSoaking(f *autorebootv1.InFlightRestart) bool {
	return f.Phase == autorebootv1.PhaseSoaking && f.UnavailableTime == nil
}

// release counts the slot that a restart gives back.
func (r *run) release(f *autorebootv1.InFlightRestart) {
	if r.hasSlot(f) {
		r.released++
	}
}
