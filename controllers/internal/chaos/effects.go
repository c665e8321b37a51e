// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

func (r *run) plan(o occurrence) {
	c := &chaosv1.CurrentRun{
		ID: o.id, Phase: chaosv1.RunPlanned, StartedTime: r.at(), KillingTime: r.at(), Generation: r.p.Generation, DryRun: r.dryRun,
		Count: int32(o.chosen.count), Seed: o.chosen.seed, Candidates: int32(o.chosen.candidates), CandidatesDigest: o.chosen.digest,
		Victims: o.chosen.victims,
	}
	r.status.CurrentRun, r.status.LastRunTime = c, r.at()
	r.took(o)
	if !o.slot.due.IsZero() {
		due := stampOf(o.slot.due)
		c.ScheduledTime = &due
	}
	what := "is about to kill "
	if c.DryRun {
		what = "asks, as a dry run, whether it could kill "
	}
	r.tell(Notice{Reason: "ChaosPlanned", Message: "run " + c.ID + " " + what + r.fates()})
}

// took leaves a run behind: neither what was due by now nor the token is acted on again.
func (r *run) took(o occurrence) {
	after := r.at()
	if o.slot.due.After(after.Time) {
		due := stampOf(o.slot.due)
		after = &due
	}
	r.status.DueAfter = after
	if token, ok := r.token(); ok && o.asked {
		r.status.LastRunNow = token
	}
}

// passed records a run that found no victim, or that was held until its deadline.
func (r *run) passed(o occurrence) {
	late := !o.asked && o.id == ""
	if late {
		o.id = nameOf(o.slot)
	}
	r.took(o)
	if late { // one that is due since counts
		due := stampOf(o.slot.due)
		r.status.DueAfter = &due
	}
	run := chaosv1.Run{ID: o.id, Outcome: chaosv1.RunNoVictim, Reason: o.reason, Message: clip(o.message, maxMessage), CompletedTime: r.at()}
	r.record(run)
	r.tell(Notice{Reason: "ChaosMissed", Message: "run " + run.ID + " killed nothing: " + o.message, Ended: &run})
}

func (r *run) answered(occurrence) { r.status.CurrentRun.Phase = chaosv1.RunKilling }

func (r *run) struck(occurrence) { r.status.CurrentRun.Phase = chaosv1.RunVerifying }

func (r *run) unharmed(o occurrence) {
	run := r.end(chaosv1.RunNoVictim, o)
	r.tell(Notice{Reason: "ChaosMissed", Message: "run " + run.ID + ": " + o.message, Ended: &run})
}

func (r *run) failed(o occurrence) {
	run := r.end(chaosv1.RunFailed, o)
	r.tell(Notice{Reason: "RunFailed", Warning: true, Message: "run " + run.ID + " failed: " + o.message, Ended: &run})
}

func (r *run) rehearsed(o occurrence) {
	o.reason, o.message = "", "as a dry run: "+r.fates()
	run := r.end(chaosv1.RunDryRun, o)
	r.tell(Notice{Reason: "ChaosDryRun", Message: "run " + run.ID + " " + run.Message, Ended: &run})
}

func (r *run) confused(o occurrence) {
	run := r.end(chaosv1.RunFailed, o)
	r.tell(Notice{Reason: "RunFailed", Warning: true, Message: "run " + run.ID + " failed: " + o.message, Ended: &run})
	r.halt(o, run.ID)
}

func (r *run) recovered(o occurrence) {
	started, seconds := r.status.CurrentRun.StartedTime, max(int64(r.status.CurrentRun.ReadyTime.Sub(r.status.CurrentRun.KilledTime.Time).Seconds()), 0)
	victim := r.firstDead()
	run := r.end(chaosv1.RunSurvived, o)
	r.status.Runs[0].RecoverySeconds, run.RecoverySeconds = &seconds, &seconds
	r.status.LastSuccessfulRunTime = started
	message := fmt.Sprintf("run %s was survived: the target recovered in %ds", run.ID, seconds)
	if r.soak > 0 {
		message += fmt.Sprintf(" and stayed ready for %s", r.soak)
	}
	r.tell(Notice{Reason: "Recovered", Victim: victim, Message: message, Ended: &run})
}

func (r *run) unrecovered(o occurrence) {
	victim := r.firstDead()
	run := r.end(chaosv1.RunRecoveryFailed, o)
	r.tell(Notice{Reason: "RecoveryFailed", Warning: true, Victim: victim,
		Message: fmt.Sprintf("run %s was not survived: after %s %s", run.ID, r.recoveryTimeout, o.message), Ended: &run})
}

func (r *run) timedOut(o occurrence) {
	r.unrecovered(o)
	r.halt(o, r.status.Runs[0].ID)
}

func (r *run) vanished(o occurrence) { r.failed(o) }

func (r *run) halt(o occurrence, id string) {
	r.status.Halt = &chaosv1.Halt{Reason: o.reason, Message: clip(o.message, maxMessage), Time: r.stamp, Generation: r.p.Generation, RunID: id}
	r.tell(Notice{Reason: "AutoSuspended", Warning: true, Message: "no further run begins after run " + id + ": " + o.message +
		"; to go on, change the spec, or set the annotation " + chaosv1.ResumeAnnotation + " to the present time (RFC 3339)"})
}

func (r *run) resumed(occurrence) {
	id := r.status.Halt.RunID
	r.status.Halt = nil
	// What was due in the meantime is not made up.
	if r.status.DueAfter.Before(r.at()) {
		r.status.DueAfter = r.at()
	}
	r.tell(Notice{Reason: "Resumed", Message: "runs go on, after run " + id})
}

// end moves the run from what is under way to what has ended. What came due meanwhile is skipped.
func (r *run) end(outcome chaosv1.RunOutcome, o occurrence) chaosv1.Run {
	c := r.status.CurrentRun
	run := chaosv1.Run{
		ID: c.ID, Outcome: outcome, Reason: o.reason, Message: clip(o.message, maxMessage),
		StartedTime: c.StartedTime, CompletedTime: r.at(), Seed: c.Seed, Candidates: c.Candidates, CandidatesDigest: c.CandidatesDigest,
	}
	if !c.DryRun {
		run.Killed = int32(r.dead())
	}
	r.status.Blocked = r.blocked()
	r.status.CurrentRun = nil
	if r.status.DueAfter == nil || r.status.DueAfter.Before(r.at()) {
		r.status.DueAfter = r.at()
	}
	r.record(run)
	return run
}

// blocked are the owners of which disruption budgets kept every victim alive. A run in which a pod died may
// have used up a budget itself.
func (r *run) blocked() []chaosv1.BlockedWorkload {
	if r.dead() > 0 {
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

func (r *run) record(run chaosv1.Run) {
	r.status.Runs = append([]chaosv1.Run{run}, r.status.Runs...)
	r.status.Runs = r.status.Runs[:min(len(r.status.Runs), chaosv1.MaxStatusRuns)]
}

// firstDead is a victim that died, with its owner.
func (r *run) firstDead() *chaosv1.Victim {
	for i := range r.status.CurrentRun.Victims {
		if v := &r.status.CurrentRun.Victims[i]; fatal(v.Outcome) {
			return v.DeepCopy()
		}
	}
	return nil
}

// fates names the victims and what became of them.
func (r *run) fates() string {
	var all []string
	for i := range r.status.CurrentRun.Victims {
		v := &r.status.CurrentRun.Victims[i]
		fate := "pod " + v.Name + " of " + v.Owner.Kind + " " + v.Owner.Name
		switch {
		case v.Outcome == chaosv1.VictimDryRun:
			fate += " (would die)"
		case v.Outcome == chaosv1.VictimPending:
		case v.Reason != "":
			fate += " (" + string(v.Outcome) + ": " + v.Reason + ")"
		case v.BlockedBy != "":
			fate += " (" + string(v.Outcome) + ": " + v.BlockedBy + ")"
		default:
			fate += " (" + string(v.Outcome) + ")"
		}
		all = append(all, fate)
	}
	return some(all)
}

// confusion names the pods that the eviction API could not decide about.
func (r *run) confusion() string {
	var names []string
	for _, v := range r.status.CurrentRun.Victims {
		if confusing(v) {
			names = append(names, v.Name)
		}
	}
	return "the eviction API cannot decide about pod " + strings.Join(names[:min(len(names), maxNamed)], ", ") + ": more than one PodDisruptionBudget matches"
}
