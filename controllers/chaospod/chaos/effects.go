// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/history"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
	"github.com/fairlead-dev/fairlead/internal/text"
)

func (r *run) plan(o occurrence) {
	c := &chaosv1.CurrentRun{
		ID: o.id, Phase: chaosv1.RunPlanned, StartTime: r.timestampPtr(), DryRun: r.dryRun,
		Count: int32(o.chosen.count), Seed: o.chosen.seed, Candidates: int32(o.chosen.candidates), CandidatesDigest: o.chosen.digest,
		Victims:      o.chosen.victims,
		RunInternals: chaosv1.RunInternals{KillingTime: r.timestampPtr(), Generation: r.p.Generation, TargetDigest: r.targetDigest},
	}
	r.status.CurrentRun, r.status.LastRunTime = c, r.timestampPtr()
	r.markStarted(o)
	if !o.slot.due.IsZero() {
		due := stampOf(o.slot.due)
		c.ScheduledTime = &due
	}
	what := "is about to kill "
	if c.DryRun {
		what = "asks, as a dry run, whether it could kill "
	}
	r.addMessage(Message{Reason: chaosv1.EventChaosPlanned, Text: "run " + c.ID + " " + what + r.victimsText()})
}

// markStarted records that neither what was due by now nor the token asks for another run.
func (r *run) markStarted(o occurrence) {
	after := r.timestampPtr()
	if o.slot.due.After(after.Time) {
		due := stampOf(o.slot.due)
		after = &due
	}
	r.status.DueAfterTime = after
	if o.asked {
		r.status.HandledRunNow = requests.Handle(r.p, chaosv1.RunNowAnnotation, r.status.HandledRunNow)
	}
}

// skipped records a run without victims, or one that was held until its deadline.
func (r *run) skipped(o occurrence) {
	late := !o.asked && o.id == ""
	if late {
		o.id = slotID(o.slot)
	}
	r.markStarted(o)
	if late { // one that is due since counts
		due := stampOf(o.slot.due)
		r.status.DueAfterTime = &due
	}
	run := chaosv1.Run{Record: common.Record{
		ID: o.id, Result: chaosv1.ResultNoVictim, Reason: o.reason, Message: text.Truncate(o.message, maxMessage),
		CompletionTime: r.timestampPtr(),
	}}
	r.addRun(run)
	r.addMessage(Message{Reason: chaosv1.EventChaosMissed, Text: "run " + run.ID + " killed nothing: " + o.message, Ended: &run})
}

func (r *run) answered(occurrence) { r.startPhase(chaosv1.RunKilling) }

func (r *run) killed(occurrence) { r.startPhase(chaosv1.RunVerifying) }

func (r *run) startPhase(phase chaosv1.RunPhase) {
	r.countRequests()
	r.status.CurrentRun.Phase = phase
}

func (r *run) noneKilled(o occurrence) {
	run := r.endRun(chaosv1.ResultNoVictim, o)
	r.addMessage(Message{Reason: chaosv1.EventChaosMissed, Text: "run " + run.ID + ": " + o.message, Ended: &run})
}

func (r *run) failed(o occurrence) {
	run := r.endRun(chaosv1.ResultFailed, o)
	r.addMessage(Message{Reason: chaosv1.EventRunFailed, Warning: true, Text: "run " + run.ID + " failed: " + o.message, Ended: &run})
}

func (r *run) dryRunEnded(o occurrence) {
	o.reason, o.message = "", "as a dry run: "+r.victimsText()
	run := r.endRun(chaosv1.ResultDryRun, o)
	r.addMessage(Message{Reason: chaosv1.EventChaosDryRun, Text: "run " + run.ID + " " + run.Message, Ended: &run})
}

func (r *run) evictionMisconfigured(o occurrence) {
	run := r.endRun(chaosv1.ResultFailed, o)
	r.addMessage(Message{Reason: chaosv1.EventRunFailed, Warning: true, Text: "run " + run.ID + " failed: " + o.message, Ended: &run})
	r.halt(o, run.ID)
}

func (r *run) recovered(o occurrence) {
	started := r.status.CurrentRun.StartTime
	victim, requests := r.firstDead(), ""
	if r.countRequests(); r.requestsText() != "" {
		requests = "; " + r.requestsText()
	}
	run := r.endRecovered(chaosv1.ResultSurvived, o)
	r.status.LastSuccessfulRunTime = started
	message := fmt.Sprintf("run %s was survived: the target recovered in %s", run.ID, *run.RecoveryDuration)
	if r.soak > 0 {
		message += fmt.Sprintf(" and stayed ready for %s", common.DurationOf(r.soak))
	}
	message += requests
	r.addMessage(Message{Reason: chaosv1.EventRecovered, Victim: victim, Text: message, Ended: &run})
}

// endRecovered ends a run whose owners are back.
func (r *run) endRecovered(result string, o occurrence) chaosv1.Run {
	took := common.DurationOf(max(r.status.CurrentRun.ReadyTime.Sub(r.status.CurrentRun.KilledTime.Time).Truncate(time.Second), 0))
	run := r.endRun(result, o)
	r.status.History[0].RecoveryDuration, run.RecoveryDuration = &took, &took
	return run
}

func (r *run) endedByProbes(o occurrence) {
	victim := r.firstDead()
	run := r.endRecovered(chaosv1.ResultProbesFailed, o)
	r.addMessage(Message{Reason: chaosv1.EventProbesFailed, Warning: true, Victim: victim,
		Text: fmt.Sprintf("run %s was not survived: %s", run.ID, run.Message), Ended: &run})
}

func (r *run) probesFailedAndHalted(o occurrence) {
	r.endedByProbes(o)
	r.halt(o, r.status.History[0].ID)
}

func (r *run) unrecovered(o occurrence) {
	victim := r.firstDead()
	run := r.endRun(chaosv1.ResultRecoveryFailed, o)
	r.addMessage(Message{Reason: chaosv1.EventRecoveryFailed, Warning: true, Victim: victim,
		Text: fmt.Sprintf("run %s was not survived: after %s %s", run.ID, common.DurationOf(r.timeout), o.message), Ended: &run})
}

func (r *run) timedOut(o occurrence) {
	r.unrecovered(o)
	r.halt(o, r.status.History[0].ID)
}

func (r *run) halt(o occurrence, id string) {
	r.status.Halt = &common.Halt{Reason: o.reason, Message: text.Truncate(o.message, maxMessage),
		StartTime: r.timestamp, Generation: r.p.Generation, RecordID: id}
	r.handleRetry()
	r.addMessage(Message{Reason: chaosv1.EventHalted, Warning: true, Text: "no further run begins after run " + id + ": " + o.message +
		"; " + r.haltRemedy()})
}

func (r *run) haltEnded(occurrence) {
	id := r.status.Halt.RecordID
	r.status.Halt = nil
	r.handleRetry()
	// Runs that were due in the meantime are not started.
	if r.status.DueAfterTime.Before(r.timestampPtr()) {
		r.status.DueAfterTime = r.timestampPtr()
	}
	r.addMessage(Message{Reason: chaosv1.EventHaltEnded, Text: "runs go on, after run " + id})
}

// endRun moves a run from currentRun to history. Runs that became due meanwhile are skipped.
func (r *run) endRun(result string, o occurrence) chaosv1.Run {
	c := r.status.CurrentRun
	r.countRequests()
	sentences := slices.DeleteFunc([]string{r.requestsText(), o.message}, func(s string) bool { return s == "" })
	run := chaosv1.Run{
		Record: common.Record{
			ID: c.ID, Result: result, Reason: o.reason, Message: text.Truncate(strings.Join(sentences, "; "), maxMessage),
			StartTime: c.StartTime, CompletionTime: r.timestampPtr(),
		},
		Seed: c.Seed, Candidates: c.Candidates, CandidatesDigest: c.CandidatesDigest, Requests: requestcount.Total(c.Probes),
	}
	if !c.DryRun {
		run.Killed = int32(r.deadCount())
	}
	if result == chaosv1.ResultSurvived || result == chaosv1.ResultRecoveryFailed || result == chaosv1.ResultProbesFailed {
		r.status.VerifiedTarget = c.TargetDigest
	}
	r.status.Blocked = r.blocked()
	r.status.CurrentRun = nil
	if r.status.DueAfterTime == nil || r.status.DueAfterTime.Before(r.timestampPtr()) {
		r.status.DueAfterTime = r.timestampPtr()
	}
	r.addRun(run)
	return run
}

// blocked returns the owners whose disruption budgets kept every victim alive. A run that killed a pod may have used up
// a budget itself.
func (r *run) blocked() []chaosv1.BlockedWorkload {
	if r.deadCount() > 0 {
		return nil
	}
	var all []chaosv1.BlockedWorkload
	for i := range r.status.CurrentRun.Victims {
		v := &r.status.CurrentRun.Victims[i]
		if slices.ContainsFunc(all, func(b chaosv1.BlockedWorkload) bool { return b.UID == v.Owner.UID }) ||
			slices.ContainsFunc(r.status.CurrentRun.Victims, func(other chaosv1.Victim) bool {
				return other.Owner.UID == v.Owner.UID && other.Outcome != chaosv1.VictimSkippedDisruptionBudget
			}) {
			continue
		}
		all = append(all, chaosv1.BlockedWorkload{VictimOwner: *v.Owner, Ready: v.ReadyBefore, BlockedBy: v.BlockedBy})
	}
	return all
}

func (r *run) addRun(run chaosv1.Run) {
	r.status.History = history.Add(r.status.History, r.historyLimit, run)
}
