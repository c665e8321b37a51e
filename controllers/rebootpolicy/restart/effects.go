// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/history"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/internal/text"
)

func (r *run) fire(t *target, o occurrence) {
	if t.Pending == nil {
		since := r.timestamp
		// A new request must not look like a retry: see retryPending.
		if t.LastRestartTime != nil && !since.After(t.LastRestartTime.Time) {
			since = metav1.NewTime(t.LastRestartTime.Add(time.Second))
		}
		if t.Attempts > r.maxAttempts {
			t.Attempts = 0
		}
		t.Pending = &autorebootv1.PendingRestart{FirstRequestTime: since, LastRequestTime: since}
	} else if len(o.added) > 0 && r.timestamp.After(t.Pending.LastRequestTime.Time) {
		t.Pending.LastRequestTime = r.timestamp
	}
	// The times of sources are those of the API server, whose clock may be ahead.
	if changed := earliest(o.changed, r.timestamp.Time); changed.After(t.Pending.LastRequestTime.Time) {
		t.Pending.LastRequestTime = metav1.NewTime(changed)
	}
	t.Pending.Triggers = o.triggers
	for _, name := range o.triggers {
		if slices.Contains(o.added, name) || len(o.added) == 0 {
			r.fired[name] = true
		}
	}
	if len(o.added) > 0 {
		r.addMessage(Message{Reason: TriggerFired, Target: t.id(),
			Text: triggersText(o.added) + " asked for a restart of " + targetText(t.id()) + inParentheses(o.message)})
	}
	r.addRecoveredMessage(t, o.removed)
}

func (r *run) partlyRecovered(t *target, o occurrence) {
	t.Pending.Triggers = o.triggers
	r.addRecoveredMessage(t, o.removed)
}

func (r *run) recovered(t *target, o occurrence) {
	t.Pending = nil
	// It is not given up: the reason for the restart is gone.
	t.Attempts = min(t.Attempts, r.maxAttempts)
	r.addRecoveredMessage(t, o.removed)
}

func (r *run) addRecoveredMessage(t *target, recovered []string) {
	if len(recovered) > 0 {
		text := triggersText(recovered) + " no longer asks for a restart of " + targetText(t.id())
		r.addMessage(Message{Reason: autorebootv1.EventTriggerRecovered, Target: t.id(), Text: text})
	}
}

func (r *run) expire(t *target, o occurrence) {
	if t.Pending != nil {
		t.Pending = nil
		t.Attempts = min(t.Attempts, r.maxAttempts)
	}
	r.recordSuperseded(t, o.triggers, o.reason, "could not start before the deadline of "+triggersText(o.triggers))
}

func (r *run) supersede(t *target, o occurrence) {
	triggers := t.Pending.Triggers
	if t.retryPending() {
		t.Attempts = 0 // another rollout has replaced the pods
	}
	t.Pending = nil
	r.setBaselines(t, nil)
	r.markRestartNowDone(triggers)
	r.recordSuperseded(t, triggers, o.reason, "is not needed: all pods are newer than what changed")
	r.resetAttempts(t)
}

// skip records times of a schedule that fell into a suspension or a dry run.
func (r *run) skip(t *target, signals []*Signal) {
	var triggers []string
	for _, s := range signals {
		triggers = append(triggers, s.Trigger)
		r.fired[s.Trigger] = true
	}
	reason, words := autorebootv1.ReasonSuspended, "is skipped: the policy is suspended, and was due for "
	if r.dryRun {
		reason, words = autorebootv1.ReasonDryRun, "would be due if dryRun were false, for "
	}
	r.recordSuperseded(t, slices.Compact(triggers), reason, words+triggersText(slices.Compact(triggers)))
}

// recordSuperseded records a restart that was never started.
func (r *run) recordSuperseded(t *target, triggers []string, reason, words string) {
	record := autorebootv1.RestartRecord{
		Record: common.Record{
			ID: r.nextID(), Result: autorebootv1.ResultSuperseded, Reason: reason, CompletionTime: r.timestampPtr(),
		},
		Triggers: triggers, Target: t.id(),
	}
	// Without a history, the id must not be used again.
	t.LastRestartID = record.ID
	r.addHistory(record)
	r.addMessage(Message{Reason: autorebootv1.EventRestartSuperseded, Target: t.id(),
		Text: "the restart of " + targetText(t.id()) + " " + words, Ended: &record})
}

func (r *run) hold(t *target, o occurrence) {
	t.Pending.Reason = o.reason
	switch o.reason {
	case autorebootv1.ReasonDebouncing, autorebootv1.ReasonConcurrencyLimit, autorebootv1.ReasonLowerWave, autorebootv1.ReasonHalted,
		autorebootv1.ReasonApprovalRequired:
		// It only waits for its turn, or another message has said so.
	case autorebootv1.ReasonDryRun:
		r.addMessage(Message{Reason: autorebootv1.EventRestartPlanned, Target: t.id(), Text: o.message})
	default:
		r.addMessage(Message{Reason: autorebootv1.EventRestartWaiting, Target: t.id(), Text: o.message})
	}
}

func (r *run) overLimit(t *target, o occurrence) {
	r.halt(t, autorebootv1.ReasonLimitReached, "")
	r.addMessage(Message{Reason: autorebootv1.EventLimitReached, Warning: true, Target: t.id(), Text: o.message})
}

func (r *run) halt(t *target, reason, id string) {
	r.status.Halt = &autorebootv1.Halt{
		Halt: common.Halt{Reason: reason, StartTime: r.timestamp, Generation: r.policy.Generation, RecordID: id}, Target: t.id(),
	}
	r.handleRetry()
}

func (r *run) plan(t *target, _ occurrence) {
	f := autorebootv1.InFlightRestart{
		ID: r.nextID(), Kind: t.Kind, Name: t.Name, UID: t.UID, Phase: autorebootv1.PhasePlanned,
		FirstRequestTime: t.Pending.FirstRequestTime.DeepCopy(), StartTime: r.timestampPtr(), PhaseTime: r.timestampPtr(),
		Triggers: t.Pending.Triggers, Refusal: t.Pending.Refusal,
		RestartInternals: autorebootv1.RestartInternals{
			Partition: ptr.To(t.workload.Partition), Template: t.workload.TemplateHash, PodCutoffTime: r.afterPods(t.workload),
		},
	}
	if slices.Contains(f.Triggers, autorebootv1.RestartNowTrigger) {
		r.handleRestartNow()
	}
	if t.isCorrected() && t.requested.content {
		f.Message = text.Truncate(r.correctedText(t), maxRecord)
		if at := t.LastRestartTime; at != nil && at.Before(f.FirstRequestTime) {
			f.FirstRequestTime = at // others wait for it as for a retry
		}
	}
	if r.isUrgent(f.Triggers) {
		f.Message = text.Truncate(strings.TrimPrefix(f.Message+"; urgent: it waited for no window and no turn", "; "), maxRecord)
	}
	if t.requested.content {
		t.Attempts, t.PreviousContent = 0, r.contentOf(t, (*target).baselineFingerprint)
	}
	t.Pending = nil
	t.LastRestartID = f.ID
	r.setBaselines(t, nil)
	t.settleBaselines()
	// Restarts that the limit does not count any more are dropped now: to drop them earlier would be a write of its
	// own.
	t.RecentRestartTimes = append(slices.DeleteFunc(slices.Clone(t.RecentRestartTimes),
		func(at metav1.Time) bool { return !r.countsForLimit(at) }), r.timestamp)
	if n := len(t.RecentRestartTimes); n > maxRecent {
		t.RecentRestartTimes = t.RecentRestartTimes[n-maxRecent:]
	}
	r.status.InFlight = append(r.status.InFlight, f)
	r.started++
	r.requeueInFlight(&f)
}

func (r *run) countsForLimit(at metav1.Time) bool { return at.Add(r.within).After(r.now) }

func (r *run) annotated(t *target, o occurrence) {
	f := r.inFlight(t.id())
	f.Generation = o.generation
	r.startPhase(t, f, autorebootv1.PhaseRollingOut)
}

func (r *run) evicting(t *target, _ occurrence) {
	r.startPhase(t, r.inFlight(t.id()), autorebootv1.PhaseEvicting)
}

func (r *run) startPhase(t *target, f *autorebootv1.InFlightRestart, phase autorebootv1.RestartPhase) {
	r.countRequests(f)
	f.Phase, f.PhaseTime, f.Refusal = phase, r.timestampPtr(), nil
	r.addMessage(Message{Reason: autorebootv1.EventRestartStarted, Target: t.id(),
		Text: "restart " + f.ID + " of " + targetText(t.id()) + " has started because of " + triggersText(f.Triggers) + inParentheses(f.Message)})
}

// refused takes back a plan that had no effect: the restart becomes pending again, for the same triggers.
func (r *run) refused(t *target, o occurrence) {
	f := r.inFlight(t.id())
	r.addRefusedMessage(t, f.Refusal, o)
	since := r.timestamp
	if f.FirstRequestTime != nil {
		since = *f.FirstRequestTime
	}
	t.Pending = &autorebootv1.PendingRestart{
		Triggers: f.Triggers, FirstRequestTime: since, LastRequestTime: since, Reason: o.reason, Refusal: r.refusalOf(o),
		PendingInternals: autorebootv1.PendingInternals{PodCutoffTime: f.PodCutoffTime},
	}
	if n := len(t.RecentRestartTimes); n > 0 && f.StartTime != nil && t.RecentRestartTimes[n-1].Equal(f.StartTime) {
		t.RecentRestartTimes = t.RecentRestartTimes[:n-1]
	}
	r.dropInFlight(f.ID)
}

func (r *run) refusalOf(o occurrence) *autorebootv1.Refusal {
	return &autorebootv1.Refusal{LastAttemptTime: r.timestamp, Reason: text.Truncate(o.reason, maxFingerprint),
		Message: text.Truncate(o.message, maxRecord)}
}

// addRefusedMessage reports a refusal once, and again where the API server has other words for it.
func (r *run) addRefusedMessage(t *target, before *autorebootv1.Refusal, o occurrence) {
	if before == nil || before.Message != text.Truncate(o.message, maxRecord) {
		r.addMessage(Message{Reason: autorebootv1.EventRestartRefused, Warning: true, Target: t.id(), Text: o.message})
	}
}

func (r *run) soak(t *target, _ occurrence) {
	f := r.inFlight(t.id())
	r.release(f)
	r.countRequests(f)
	f.Phase, f.PhaseTime, f.BlockedTime, f.BlockedBy, f.Refusal = autorebootv1.PhaseSoaking, r.timestampPtr(), nil, "", nil
	desired := t.workload.Desired
	f.Desired, f.ContainerRestarts = &desired, t.workload.restartsBeforeReady(f)
}

func (r *run) verified(t *target, o occurrence) {
	o.reason = autorebootv1.ReasonStayedAvailable
	record := r.endRestart(t, autorebootv1.ResultSucceeded, o)
	r.markRestartNowDone(record.Triggers)
	r.addMessage(Message{Reason: autorebootv1.EventRestartVerified, Target: t.id(),
		Text: "restart " + record.ID + " of " + targetText(t.id()) + " was verified" + inParentheses(record.Message), Ended: &record})
}

// markRestartNowDone records that a restart which a user asked for was verified, or not needed.
func (r *run) markRestartNowDone(triggers []string) {
	r.restartNowDone = r.restartNowDone || slices.Contains(triggers, autorebootv1.RestartNowTrigger)
}

func inParentheses(message string) string {
	if message == "" {
		return ""
	}
	return " (" + message + ")"
}

// failed makes the retry pending: its triggers may not fire again.
func (r *run) failed(t *target, o occurrence) {
	record := r.fail(t, o)
	r.keepPending(t, &record)
}

// keepPending has the restart of a record wait again.
func (r *run) keepPending(t *target, record *autorebootv1.RestartRecord) {
	since := r.timestamp
	if record.StartTime != nil && record.StartTime.Before(&since) {
		since = *record.StartTime
	}
	t.Pending = &autorebootv1.PendingRestart{
		Triggers: record.Triggers, FirstRequestTime: since, LastRequestTime: since, Reason: autorebootv1.ReasonBackoff,
		PendingInternals: autorebootv1.PendingInternals{PodCutoffTime: r.afterPods(t.workload)},
	}
}

func (r *run) failedAndGivenUp(t *target, o occurrence) { r.fail(t, o) }

func (r *run) failedAndHalted(t *target, o occurrence) {
	r.halted(t, o, autorebootv1.ReasonVerificationFailed)
}

func (r *run) reverted(t *target, o occurrence) { r.halted(t, o, autorebootv1.ReasonTargetReverted) }

// halted fails a restart, which halts the policy.
func (r *run) halted(t *target, o occurrence, reason string) {
	r.failed(t, o)
	r.halt(t, reason, t.LastRestartID)
	t.Pending.Reason = autorebootv1.ReasonHalted
}

func (r *run) fail(t *target, o occurrence) autorebootv1.RestartRecord {
	record := r.endRestart(t, autorebootv1.ResultFailed, o)
	t.Attempts++
	if o.reason == autorebootv1.ReasonTargetReverted {
		r.addMessage(Message{Reason: autorebootv1.EventTargetReverted, Warning: true, Target: t.id(), Text: "restart " + record.ID + " of " + targetText(t.id()) + " was reverted by the workload's owner (Argo CD, Flux, Helm?): use the strategy Evict"})
	}
	r.addFailedMessage(t, &record)
	return record
}

func (r *run) addFailedMessage(t *target, record *autorebootv1.RestartRecord) {
	r.addMessage(Message{Reason: autorebootv1.EventRestartFailed, Warning: true, Target: t.id(),
		Text: "restart " + record.ID + " of " + targetText(t.id()) + " failed: " +
			record.Reason + inParentheses(record.Message), Ended: record})
}

// targetGone drops everything: a workload of the same name has baselines of its own.
func (r *run) targetGone(t *target, o occurrence) {
	record := r.endRestart(t, autorebootv1.ResultFailed, o)
	*t.TargetStatus = autorebootv1.TargetStatus{Kind: t.Kind, Name: t.Name, LastRestartID: record.ID}
	r.addFailedMessage(t, &record)
}

// unselected ends a restart of a workload that is not selected any more: what it was for is owed where it is selected again.
func (r *run) unselected(t *target, o occurrence) {
	record := r.endRestart(t, autorebootv1.ResultFailed, o)
	r.addFailedMessage(t, &record)
	r.keepPending(t, &record)
}

// endRestart moves a restart from inFlight to history.
func (r *run) endRestart(t *target, result string, o occurrence) autorebootv1.RestartRecord {
	f := r.inFlight(t.id())
	r.countRequests(f)
	if result == autorebootv1.ResultFailed {
		t.PreviousContent = ""
	}
	sentences := slices.DeleteFunc([]string{r.requests(f).Sentence(f.Probes, "while it restarted"), o.message, f.Message},
		func(s string) bool { return s == "" })
	record := autorebootv1.RestartRecord{
		Record: common.Record{
			ID: f.ID, Result: result, Reason: o.reason, Message: text.Truncate(strings.Join(sentences, "; "), maxRecord),
			StartTime: f.StartTime, CompletionTime: r.timestampPtr(),
		},
		Triggers: f.Triggers, Target: t.id(), Requests: requestcount.Total(f.Probes),
	}
	r.release(f)
	r.dropAnswers(t, f)
	r.dropInFlight(record.ID)
	t.LastRestartTime, r.status.LastRestartTime = r.timestampPtr(), r.timestampPtr()
	r.addHistory(record)
	return record
}

func (r *run) dropInFlight(id string) {
	r.status.InFlight = slices.DeleteFunc(r.status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.ID == id })
	if len(r.status.InFlight) == 0 {
		r.status.InFlight = nil
	}
}

func (r *run) attemptsReset(t *target, _ occurrence) { t.Attempts = 0 }

func (r *run) haltEnded(*target, occurrence) { r.clearHalt() }

// clearHalt ends a halt. Earlier failures and restarts do not count any more, or the policy would halt again at once.
func (r *run) clearHalt() {
	r.status.Halt = nil
	r.handleRetry()
	for _, all := range [][]autorebootv1.TargetStatus{r.status.Targets, r.status.UnselectedTargets} {
		for i := range all {
			all[i].Attempts, all[i].RecentRestartTimes = 0, nil
		}
	}
}

func (r *run) addHistory(record autorebootv1.RestartRecord) {
	r.status.History = history.Add(r.status.History, r.historyLimit, record)
}

// ended ends a restart that failed and is not tried again: its rollout waits for a node, and the workload's controller goes on
// with it once the node is back or removed; or all pods are new, and too many requests failed meanwhile.
func (r *run) ended(t *target, o occurrence) {
	record := r.endRestart(t, autorebootv1.ResultFailed, o)
	r.addFailedMessage(t, &record)
}

func (r *run) endedAndHalted(t *target, o occurrence) {
	r.ended(t, o)
	r.halt(t, autorebootv1.ReasonVerificationFailed, t.LastRestartID)
}
