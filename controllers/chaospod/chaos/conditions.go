// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/conditions"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// wasHeld returns what held a run when the status was stored, by the condition Waiting.
func (r *run) wasHeld() (reason, message string, held bool) {
	c := meta.FindStatusCondition(r.p.Status.Conditions, chaosv1.ConditionWaiting)
	if c == nil {
		return "", "", false
	}
	return c.Reason, c.Message, c.Status == metav1.ConditionTrue && c.Reason != chaosv1.ReasonBudgetBlocked
}

// hold sets why a run may not start, or not kill yet, with a message for each new reason.
func (r *run) hold(h *hold) {
	r.held = h
	r.requeueAt(h.until)
	if h.until.IsZero() {
		r.requeueAt(r.now.Add(heldInterval))
	}
	if reason, _, held := r.wasHeld(); !held || reason != h.reason {
		what := "a run is due and held"
		if c := r.status.CurrentRun; c != nil {
			what = "run " + c.ID + " has chosen its victims and is held"
		}
		r.addMessage(Message{Reason: chaosv1.EventChaosWaiting, Text: what + " (" + h.reason + "): " + h.message})
	}
}

func (r *run) conditions() *conditions.Update {
	return &conditions.Update{Conditions: &r.status.Conditions, Generation: r.status.ObservedGeneration, Now: r.timestamp}
}

// setConditions sets the conditions of the status.
func (r *run) setConditions() {
	if r.observed.BlockedBy.Reason == "" {
		r.observed.BlockedBy = r.standingRefusal()
	}
	to := r.conditions()
	r.setReady(to)
	switch {
	case r.held != nil:
		to.Set(chaosv1.ConditionWaiting, metav1.ConditionTrue, r.held.reason, r.held.message)
	case r.state() == Idle && len(r.status.History) > 0 && r.status.History[0].Reason == chaosv1.ReasonBudgetBlocked:
		to.Set(chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonBudgetBlocked, r.status.History[0].Message)
	default:
		to.SetNotWaiting()
	}
	to.SetSuspended(r.suspend, "no run begins while spec.suspend is true; one under way is verified")
	r.setRunConditions(to)
	switch {
	case r.observed.BlockedBy.Reason != "":
		to.Set(chaosv1.ConditionStalled, metav1.ConditionTrue, r.observed.BlockedBy.Reason, r.observed.BlockedBy.Message)
	case r.invalid() != "":
		to.Set(chaosv1.ConditionStalled, metav1.ConditionTrue, chaosv1.ReasonInvalidSpec, r.invalid())
	}
	to.RemoveOthers(chaosv1.ConditionStalled)
}

func (r *run) setReady(to *conditions.Update) {
	no := func(reason, message string) { to.Set(chaosv1.ConditionReady, metav1.ConditionFalse, reason, message) }
	c := r.observed.Canary
	switch {
	case r.observed.BlockedBy.Reason != "":
		no(r.observed.BlockedBy.Reason, r.observed.BlockedBy.Message)
	case r.invalid() != "":
		no(chaosv1.ReasonInvalidSpec, r.invalid())
	case r.template != nil && c != nil && c.Foreign && c.Pod != nil:
		no(chaosv1.ReasonCanaryConflict, "pod "+c.Pod.Name+" does not belong to the ChaosPod: it stays as it is, and no canary is created")
	case r.template != nil && c != nil && c.Unschedulable != "":
		no(chaosv1.ReasonUnschedulable, "pod "+c.Pod.Name+", the canary, is on no node: "+c.Unschedulable)
	case r.observed.Unknown != "":
		to.Set(chaosv1.ConditionReady, metav1.ConditionUnknown, chaosv1.ReasonUnknown, r.observed.Unknown)
	case r.observed.Missing != "":
		no(chaosv1.ReasonNoTarget, r.observed.Missing)
	case len(r.owners) == 0:
		no(chaosv1.ReasonNoTarget, "the target has no pods")
	case !slices.ContainsFunc(r.owners, func(owner Owner) bool { return owner.Unknown == "" }):
		to.Set(chaosv1.ConditionReady, metav1.ConditionUnknown, chaosv1.ReasonUnknown, ownerText(&r.owners[0])+": "+r.owners[0].Unknown)
	default:
		reason, message := chaosv1.ReasonScheduled, "no run is due within sight"
		switch next := r.status.NextRunTime; {
		case next != nil:
			message = "the next run is due at " + next.UTC().Format(time.RFC3339)
			if limit := r.checkDailyLimit(); limit != nil {
				message += "; " + limit.message
			}
		case r.suspend:
			message = "no run is due while spec.suspend is true"
		case r.status.Halt != nil:
			message = "no run is due: see the condition Stalled"
		case r.isCompleted():
			reason, message = chaosv1.ReasonCompleted, "the time of the only run has passed"
		case r.schedule.calendar.NextOpen(r.now).IsZero():
			message = "no run ever begins: no window is open outside of the blackouts"
		}
		message = strings.Join(slices.Concat([]string{message}, r.mistakes(), r.clamped), "; ")
		to.Set(chaosv1.ConditionReady, metav1.ConditionTrue, reason, message)
	}
}

// standingRefusal returns what the API server has refused and was not tried since; zero where there is nothing. It stands
// until a run is not refused, since only an action shows that a right, a quota or a policy has changed.
func (r *run) standingRefusal() Obstacle {
	if len(r.actions) > 0 {
		return r.observed.Refused // else Ready would be true until the answer
	}
	if r.state() != Idle || len(r.status.History) == 0 {
		return Obstacle{}
	}
	last := r.status.History[0]
	if last.Reason != chaosv1.ReasonForbidden && last.Reason != chaosv1.ReasonWriteRefused {
		return Obstacle{}
	}
	return Obstacle{Reason: last.Reason, Message: cmp.Or(r.observed.Refused.Message, last.Message)}
}

// mistakes returns what is wrong with the annotations by which owners declare what they need.
func (r *run) mistakes() []string {
	var all []string
	for i := range r.owners {
		if owner := &r.owners[i]; owner.Mistake != "" {
			all = append(all, ownerText(owner)+": "+owner.Mistake)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []string{events.Summarize(all)}
}

// setRunConditions sets the conditions about the run under way, the last result, and a halt.
func (r *run) setRunConditions(to *conditions.Update) {
	r.setProgressing(to)
	r.setSurvived(to)
	if h := r.status.Halt; h != nil {
		to.Set(chaosv1.ConditionStalled, metav1.ConditionTrue, h.Reason, fmt.Sprintf("run %s: %s; %s", h.RecordID, h.Message, r.haltRemedy()))
	}
}

// setProgressing sets what the run under way does, or why there is none.
func (r *run) setProgressing(to *conditions.Update) {
	c := r.status.CurrentRun
	if c == nil {
		to.Set(chaosv1.ConditionProgressing, metav1.ConditionFalse, r.idleReason(), "no run is under way")
		return
	}
	reason, what := chaosv1.ReasonVerifying, " waits for recovery"
	switch {
	case c.Phase != chaosv1.RunVerifying:
		reason, what = chaosv1.ReasonKilling, ""
	case len(r.unread) > 0:
		what = " cannot be verified yet: " + events.Summarize(r.unread)
	case c.ReadyTime != nil:
		what = " has recovered, and must stay so until " + c.ReadyTime.Add(r.soak).UTC().Format(time.RFC3339)
	}
	message := "run " + c.ID + what + ": " + r.victimsText()
	if requests := requestcount.Total(c.Probes); requests != nil && requests.Sent > 0 {
		message += fmt.Sprintf("; %d of %d requests had failed", requests.Failed, requests.Sent)
	}
	to.Set(chaosv1.ConditionProgressing, metav1.ConditionTrue, reason, message)
}

// idleReason returns why no run is under way.
func (r *run) idleReason() string {
	switch {
	case r.observed.BlockedBy.Reason == chaosv1.ReasonInvalidSpec || r.invalid() != "":
		return chaosv1.ReasonInvalidSpec
	case r.status.Halt != nil:
		return chaosv1.ReasonHalted
	case r.suspend:
		return chaosv1.ReasonSuspended
	case r.held != nil:
		return chaosv1.ReasonWaiting
	case r.isCompleted():
		return chaosv1.ReasonCompleted
	}
	return chaosv1.ReasonIdle
}

// isCompleted reports whether the time of the only run has passed.
func (r *run) isCompleted() bool { return r.schedule.once() && r.now.After(r.schedule.at) }

// setSurvived sets the result of the last run that killed, since the end of that run: a gate counts its age from there. That of a run
// which is not in the status any more stays in the condition.
func (r *run) setSurvived(to *conditions.Update) {
	if of := r.status.VerifiedTarget; of != "" && of != r.targetDigest {
		to.Set(chaosv1.ConditionSurvived, metav1.ConditionUnknown, chaosv1.ReasonNoRun, "no run was verified since spec.target was changed")
		return
	}
	for i := range r.status.History {
		ended := ptr.Deref(r.status.History[i].CompletionTime, metav1.Time{})
		switch run := &r.status.History[i]; run.Result {
		case chaosv1.ResultSurvived:
			message := "run " + run.ID + " was survived"
			if run.RecoveryDuration != nil {
				message += " in " + string(*run.RecoveryDuration)
			}
			if run.Requests != nil {
				message += ": " + run.Message
			}
			to.SetSince(ended, chaosv1.ConditionSurvived, metav1.ConditionTrue, chaosv1.ReasonRecovered, message)
			return
		case chaosv1.ResultRecoveryFailed, chaosv1.ResultProbesFailed:
			to.SetSince(ended, chaosv1.ConditionSurvived, metav1.ConditionFalse, run.Result, "run "+run.ID+": "+run.Message)
			return
		}
	}
	if !to.Keep(chaosv1.ConditionSurvived) {
		to.Set(chaosv1.ConditionSurvived, metav1.ConditionUnknown, chaosv1.ReasonNoRun, "no run was verified yet")
	}
}
