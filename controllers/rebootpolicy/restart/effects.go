// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func (r *run) fire(t *target, o occurrence) {
	if t.Pending == nil {
		since := r.stamp
		// What is asked for again must not look like a retry: see owed.
		if t.LastRestartTime != nil && !since.After(t.LastRestartTime.Time) {
			since = metav1.NewTime(t.LastRestartTime.Add(time.Second))
		}
		if t.Attempts > r.maxAttempts {
			t.Attempts = 0
		}
		t.Pending = &autorebootv1.PendingRestart{Since: since, Changed: since}
	} else if len(o.news) > 0 && r.stamp.After(t.Pending.Changed.Time) {
		t.Pending.Changed = r.stamp
	}
	if o.changed.After(t.Pending.Changed.Time) {
		t.Pending.Changed = metav1.NewTime(o.changed)
	}
	t.Pending.Triggers = o.triggers
	for _, name := range o.triggers {
		if slices.Contains(o.news, name) || len(o.news) == 0 {
			r.fired[name] = true
		}
	}
	if len(o.news) > 0 {
		r.tell(Notice{Reason: "TriggerFired", Target: t.id(), Message: named(o.news) + " asked for a restart of " + titled(t.id())})
	}
	r.tellLost(t, o.lost)
}

func (r *run) ease(t *target, o occurrence) {
	t.Pending.Triggers = o.triggers
	r.tellLost(t, o.lost)
}

func (r *run) recovered(t *target, o occurrence) {
	t.Pending = nil
	// It was not given up: what it was to be restarted for is over.
	t.Attempts = min(t.Attempts, r.maxAttempts)
	r.tellLost(t, o.lost)
}

func (r *run) tellLost(t *target, lost []string) {
	if len(lost) > 0 {
		r.tell(Notice{Reason: "TriggerRecovered", Target: t.id(), Message: named(lost) + " does not ask for a restart of " + titled(t.id()) + " any more"})
	}
}

func (r *run) expire(t *target, o occurrence) {
	if t.Pending != nil {
		t.Pending = nil
		t.Attempts = min(t.Attempts, r.maxAttempts)
	}
	r.drop(t, o.triggers, o.reason, "could not start before the deadline of "+named(o.triggers))
}

func (r *run) supersede(t *target, o occurrence) {
	triggers := t.Pending.Triggers
	if t.owed() {
		t.Attempts = 0 // another actor's rollout has done what ours failed to do
	}
	t.Pending = nil
	r.accept(t, nil)
	r.satisfied(triggers)
	r.drop(t, triggers, o.reason, "is not needed: all pods are newer than what changed")
	r.rest(t)
}

// drop records a restart that was never started.
func (r *run) drop(t *target, triggers []string, reason, words string) {
	record := autorebootv1.RestartRecord{
		ID: r.nextID(), Triggers: triggers, Target: t.id(),
		Result: autorebootv1.ResultSuperseded, Reason: reason, CompletedTime: r.at(),
	}
	// With no history to remember it, the id must not be given again.
	t.LastRestartID = record.ID
	r.record(record)
	r.tell(Notice{Reason: "RestartSuperseded", Target: t.id(), Message: "the restart of " + titled(t.id()) + " " + words, Ended: &record})
}

func (r *run) hold(t *target, o occurrence) {
	t.Pending.Reason = o.reason
	switch o.reason {
	case autorebootv1.ReasonDebouncing, autorebootv1.ReasonConcurrencyLimit, autorebootv1.ReasonLowerWave, autorebootv1.ReasonHalted:
		// It only waits for its turn, or another notice has told already.
	case autorebootv1.ReasonDryRun:
		r.tell(Notice{Reason: "RestartPlanned", Target: t.id(), Message: o.message})
	default:
		r.tell(Notice{Reason: "RestartHeld", Target: t.id(), Message: o.message})
	}
}

func (r *run) overLimit(t *target, o occurrence) {
	r.halt(t, autorebootv1.ReasonLimitReached, "")
	r.tell(Notice{Reason: "LimitReached", Warning: true, Target: t.id(), Message: o.message})
}

func (r *run) halt(t *target, reason, id string) {
	r.status.Halt = &autorebootv1.Halt{Reason: reason, Time: r.stamp, Generation: r.policy.Generation, Target: t.id(), RestartID: id}
}

func (r *run) plan(t *target, _ occurrence) {
	f := autorebootv1.InFlightRestart{
		ID: r.nextID(), Kind: t.Kind, Name: t.Name, UID: t.UID, Phase: autorebootv1.PhasePlanned,
		StartedTime: r.at(), PhaseTime: r.at(), Triggers: t.Pending.Triggers,
	}
	if token := r.policy.Annotations[autorebootv1.RestartNowAnnotation]; slices.Contains(f.Triggers, autorebootv1.RestartNowTrigger) && len(token) <= maxToken {
		r.status.LastRestartNow = token
	}
	t.Pending = nil
	t.LastRestartID = f.ID
	r.accept(t, nil)
	// Those that the limit does not count any more go now: to drop them earlier would be a write
	// that nothing has caused.
	t.RecentRestarts = append(slices.DeleteFunc(slices.Clone(t.RecentRestarts), func(at metav1.Time) bool { return !r.recent(at) }), r.stamp)
	if n := len(t.RecentRestarts); n > maxRecent {
		t.RecentRestarts = t.RecentRestarts[n-maxRecent:]
	}
	r.status.InFlight = append(r.status.InFlight, f)
	r.started++
	r.expect(&f)
}

func (r *run) recent(at metav1.Time) bool { return at.Add(r.within).After(r.now) }

func (r *run) annotated(t *target, o occurrence) {
	f := r.flight(t.id())
	f.Generation = o.generation
	r.begin(t, f, autorebootv1.PhaseRollingOut)
}

func (r *run) evicting(t *target, _ occurrence) {
	r.begin(t, r.flight(t.id()), autorebootv1.PhaseEvicting)
}

func (r *run) begin(t *target, f *autorebootv1.InFlightRestart, phase autorebootv1.RestartPhase) {
	f.Phase, f.PhaseTime = phase, r.at()
	r.tell(Notice{Reason: "RestartStarted", Target: t.id(), Message: "restart " + f.ID + " of " + titled(t.id()) + " has started because of " + named(f.Triggers)})
}

func (r *run) soak(t *target, _ occurrence) {
	f := r.flight(t.id())
	f.Phase, f.PhaseTime, f.BlockedTime, f.BlockedBy = autorebootv1.PhaseSoaking, r.at(), nil, ""
	desired := t.workload.Desired
	f.Desired = &desired
}

func (r *run) verified(t *target, o occurrence) {
	o.reason = autorebootv1.ReasonVerified
	record := r.end(t, autorebootv1.ResultSucceeded, o)
	r.satisfied(record.Triggers)
	r.tell(Notice{Reason: "RestartVerified", Target: t.id(), Message: "restart " + record.ID + " of " + titled(t.id()) + " was verified" + besides(record.Message), Ended: &record})
}

// satisfied notes that a restart was verified, or not needed, that a user had asked for by hand.
func (r *run) satisfied(triggers []string) {
	r.answered = r.answered || slices.Contains(triggers, autorebootv1.RestartNowTrigger)
}

func besides(message string) string {
	if message == "" {
		return ""
	}
	return " (" + message + ")"
}

// failed keeps what the restart was for: it is owed, though no trigger may ask for it again.
func (r *run) failed(t *target, o occurrence) {
	record := r.fail(t, o)
	since := r.stamp
	if record.StartedTime != nil && record.StartedTime.Before(&since) {
		since = *record.StartedTime
	}
	t.Pending = &autorebootv1.PendingRestart{
		Triggers: record.Triggers, Since: since, Changed: since, Reason: autorebootv1.ReasonBackoff,
	}
}

func (r *run) abandoned(t *target, o occurrence) { r.fail(t, o) }

func (r *run) failedForGood(t *target, o occurrence) {
	r.failed(t, o)
	r.halt(t, autorebootv1.ReasonVerificationFailed, t.LastRestartID)
	t.Pending.Reason = autorebootv1.ReasonHalted
}

func (r *run) reverted(t *target, o occurrence) {
	r.failed(t, o)
	r.halt(t, autorebootv1.ReasonTargetReverted, t.LastRestartID)
	t.Pending.Reason = autorebootv1.ReasonHalted
}

func (r *run) fail(t *target, o occurrence) autorebootv1.RestartRecord {
	record := r.end(t, autorebootv1.ResultFailed, o)
	t.Attempts++
	if o.reason == autorebootv1.ReasonTargetReverted {
		r.tell(Notice{Reason: "TargetReverted", Warning: true, Target: t.id(), Message: "restart " + record.ID + " of " + titled(t.id()) + " was reverted by the workload's owner (Argo CD, Flux, Helm?): use the strategy Evict"})
	}
	r.tell(Notice{Reason: "RestartFailed", Warning: true, Target: t.id(), Message: "restart " + record.ID + " of " + titled(t.id()) + " failed: " + o.reason + besides(record.Message), Ended: &record})
	return record
}

// vanished leaves nothing behind: a successor of the same name has baselines of its own.
func (r *run) vanished(t *target, o occurrence) {
	record := r.end(t, autorebootv1.ResultFailed, o)
	*t.TargetStatus = autorebootv1.TargetStatus{Kind: t.Kind, Name: t.Name, LastRestartID: record.ID}
	r.tell(Notice{Reason: "RestartFailed", Warning: true, Target: t.id(), Message: "restart " + record.ID + " of " + titled(t.id()) + " failed: " + o.reason, Ended: &record})
}

// end moves the restart from what is in flight to what has ended.
func (r *run) end(t *target, result autorebootv1.RestartResult, o occurrence) autorebootv1.RestartRecord {
	f := r.flight(t.id())
	record := autorebootv1.RestartRecord{
		ID: f.ID, Triggers: f.Triggers, Target: t.id(), Result: result, Reason: o.reason, Message: clip(o.message, maxRecord),
		StartedTime: f.StartedTime, CompletedTime: r.at(),
	}
	r.status.InFlight = slices.DeleteFunc(r.status.InFlight, func(other autorebootv1.InFlightRestart) bool { return other.ID == record.ID })
	if len(r.status.InFlight) == 0 {
		r.status.InFlight = nil
	}
	t.LastRestartTime, r.status.LastRestartTime = r.at(), r.at()
	r.record(record)
	return record
}

func (r *run) rested(t *target, _ occurrence) { t.Attempts = 0 }

func (r *run) resumed(*target, occurrence) { r.absolve() }

// absolve ends a halt. Failures and restarts from before do not count any more, or the policy would
// halt again at once.
func (r *run) absolve() {
	r.status.Halt = nil
	for i := range r.status.Targets {
		r.status.Targets[i].Attempts, r.status.Targets[i].RecentRestarts = 0, nil
	}
}

func (r *run) at() *metav1.Time { stamp := r.stamp; return &stamp }

func (r *run) record(record autorebootv1.RestartRecord) {
	r.status.History = append([]autorebootv1.RestartRecord{record}, r.status.History...)
	r.trim()
}

func (r *run) trim() {
	r.status.History = r.status.History[:min(len(r.status.History), r.history)]
	if len(r.status.History) == 0 {
		r.status.History = nil
	}
}
