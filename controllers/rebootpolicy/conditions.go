// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/conditions"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// conditionSet sets the conditions of a status.
type conditionSet struct {
	conditions.Update
	status *autorebootv1.RebootPolicyStatus
	// problem is why the policy cannot watch or restart everything that its spec names; empty if it can.
	problem  string
	messages []string
}

// withConditions returns a decided status with its conditions and nextAllowedTime. pending is the message about the
// restart that has waited longest, and messages are about restarts that have ended.
func (o *observation) withConditions(
	status *autorebootv1.RebootPolicyStatus, pending string, messages []restart.Message,
) *autorebootv1.RebootPolicyStatus {
	out := status.DeepCopy()
	out.NextAllowedTime = o.nextAllowed()
	c := &conditionSet{status: out, Update: conditions.Update{Conditions: &out.Conditions, Generation: o.policy.Generation,
		Now: metav1.NewTime(o.now)}}
	c.problem, c.messages = worstProblem(append(refusals(out), o.problems...))
	c.setReady(o)
	c.setWaiting(o, pending)
	c.setProgressing(o)
	c.setVerified(messages)
	if !c.Keep(autorebootv1.ConditionVerified) { // an edit of the spec does not change the verdict on the latest restart
		c.Set(autorebootv1.ConditionVerified, metav1.ConditionUnknown, autorebootv1.ReasonNoRestart, "no restart has ended yet")
	}
	c.setBudgetBlocks(o)
	c.SetSuspended(*o.policy.Spec.Suspend, "no restart starts while spec.suspend is true; one in flight is completed")
	c.setStalled(o)
	c.RemoveOthers(autorebootv1.ConditionStalled)
	return out
}

// refusals returns the refusals by the API server of restarts that wait or are in flight.
func refusals(status *autorebootv1.RebootPolicyStatus) []problem {
	var all []problem
	add := func(refusal *autorebootv1.Refusal) {
		if refusal != nil {
			all = append(all, problem{refusal.Reason, refusal.Message})
		}
	}
	for i := range status.Targets {
		if pending := status.Targets[i].Pending; pending != nil {
			add(pending.Refusal)
		}
	}
	for i := range status.InFlight {
		add(status.InFlight[i].Refusal)
	}
	return all
}

// nextAllowed returns when windows and blackouts next allow a restart; nil if they allow one now, or never will.
func (o *observation) nextAllowed() *metav1.Time {
	c := o.calendar
	if c.Broken || c.Window && c.Blackout == "" || c.NextOpen.IsZero() {
		return nil
	}
	return ptr.To(metav1.NewTime(c.NextOpen.UTC()))
}

// setReady sets the condition Ready. A restart that waits or has failed does not make it false, unless the API server
// refuses it.
func (c *conditionSet) setReady(o *observation) {
	if unread := o.unreadText(); c.problem == "" && unread != "" {
		c.Set(autorebootv1.ConditionReady, metav1.ConditionUnknown, autorebootv1.ReasonUnknown, unread)
		return
	}
	if c.problem != "" {
		c.Set(autorebootv1.ConditionReady, metav1.ConditionFalse, c.problem, events.Summarize(slices.Concat(c.messages, o.mistakes)))
		return
	}
	by := "the annotation " + autorebootv1.RestartNowAnnotation + " alone"
	if n := len(o.policy.Spec.Triggers); n > 0 {
		by = events.Plural(n, "trigger", "triggers")
	}
	message := fmt.Sprintf("%s by %s", events.Plural(o.selectedCount(), "workload is watched", "workloads are watched"), by)
	if calendar := o.calendar; calendar.Cluster != "" {
		message += "; no restart starts now: " + calendar.Cluster
	} else if !calendar.Broken && (!calendar.Window || calendar.Blackout != "") && calendar.NextOpen.IsZero() {
		message += "; no restart ever starts: no window is open outside of the blackouts"
	}
	if len(o.mistakes) > 0 {
		message += "; " + events.Summarize(o.mistakes)
	}
	message = strings.Join(slices.Concat([]string{message}, o.sourceless, o.clamped), "; ")
	c.Set(autorebootv1.ConditionReady, metav1.ConditionTrue, autorebootv1.ReasonWatching, message)
}

// setBudgetBlocks sets the condition DisruptionBudgetBlocks.
func (c *conditionSet) setBudgetBlocks(o *observation) {
	if o.budgetsUnknown && c.Keep(autorebootv1.ConditionDisruptionBudgetBlocks) {
		return
	}
	status, reason, message := metav1.ConditionFalse, autorebootv1.ReasonNotObserved, "no run of a ChaosPod has found that a budget refuses every eviction"
	switch {
	case len(o.budgetBlocks) > 0:
		status, reason = metav1.ConditionTrue, autorebootv1.ReasonNoDisruptionsAllowed
		message = events.Summarize(o.budgetBlocks) + "; a restart would be refused as well"
	case o.policy.Spec.Strategy.Type != autorebootv1.StrategyEvict:
		reason, message = autorebootv1.ReasonNotEvicting, "the policy evicts no pod"
	}
	c.Set(autorebootv1.ConditionDisruptionBudgetBlocks, status, reason, message)
}

// setWaiting sets the condition Waiting, from the target that has waited longest.
func (c *conditionSet) setWaiting(o *observation, message string) {
	var longest *autorebootv1.TargetStatus
	others := -1
	for i := range c.status.Targets {
		t := &c.status.Targets[i]
		if t.Pending == nil || t.Pending.Reason == "" {
			continue
		}
		others++
		if longest == nil || t.Pending.FirstRequestTime.Before(&longest.Pending.FirstRequestTime) {
			longest = t
		}
	}
	if longest == nil {
		isRefused := slices.ContainsFunc(c.status.InFlight, func(f autorebootv1.InFlightRestart) bool { return restart.IsRefusedPlan(&f) })
		if !isRefused || !c.Keep(autorebootv1.ConditionWaiting) { // keep the earlier reason for the wait while the API server refuses the restart
			c.SetNotWaiting()
		}
		return
	}
	switch refusal := longest.Pending.Refusal; {
	case refusal != nil && refusal.Reason == longest.Pending.Reason:
		message = refusal.Message
	case message == "":
		message = fmt.Sprintf("%s %s waits", longest.Kind, longest.Name)
	}
	if o.blockedBy != "" {
		message = fmt.Sprintf("%s %s: blocked until Ready is no longer %s", longest.Kind, longest.Name, o.blockedBy)
	}
	if others > 0 {
		message += fmt.Sprintf(" (and %s)", events.Plural(others, "more workload waits", "more workloads wait"))
	}
	c.Set(autorebootv1.ConditionWaiting, metav1.ConditionTrue, longest.Pending.Reason, message+o.clockSkew)
}

// setProgressing sets the condition Progressing: what is being restarted, or why nothing is.
func (c *conditionSet) setProgressing(o *observation) {
	var all []string
	for i := range c.status.InFlight {
		f := &c.status.InFlight[i]
		if restart.IsRefusedPlan(f) {
			continue
		}
		all = append(all, fmt.Sprintf("%s %s: %s (%s)", f.Kind, f.Name, o.progressText(f), strings.Join(f.Triggers, ", ")))
	}
	reason := restart.ProgressReason(c.status, *o.policy.Spec.Suspend)
	if len(all) > 0 {
		c.Set(autorebootv1.ConditionProgressing, metav1.ConditionTrue, reason, events.Summarize(all)+o.clockSkew)
		return
	}
	if o.invalid != "" {
		reason = autorebootv1.ReasonInvalidSpec
	}
	c.Set(autorebootv1.ConditionProgressing, metav1.ConditionFalse, reason, "no restart is in flight")
}

// progressText returns what a restart in flight is doing, and what delays it.
func (o *observation) progressText(f *autorebootv1.InFlightRestart) string {
	what, w := phaseText(f.Phase), o.workload(f.UID)
	if w != nil && w.Unread != "" {
		return what + ", but " + w.Unread
	}
	if w != nil {
		if blocked := w.BlockingText(f, o.policy.Namespace); blocked != "" {
			return what + ", but " + blocked
		}
	}
	if f.BlockedBy != "" {
		budget := f.BlockedBy
		if w != nil {
			budget = w.BlockedText(f)
		}
		what += ", which is refused by the PodDisruptionBudget " + budget
	}
	if f.Refusal != nil {
		what += ", but " + f.Refusal.Message
	}
	if w != nil {
		if stopped := w.Stopped(f); stopped != "" {
			what += ", but " + stopped
		}
		if lost := w.LostText(); lost != "" {
			what += ", without " + lost
		}
	}
	if requests := requestcount.Total(f.Probes); requests != nil && requests.Sent > 0 {
		what += fmt.Sprintf("; %d of %d requests had failed", requests.Failed, requests.Sent)
	}
	return what
}

func phaseText(phase autorebootv1.RestartPhase) string {
	switch phase {
	case autorebootv1.PhasePlanned:
		return "is about to be restarted"
	case autorebootv1.PhaseRollingOut:
		return "rolls out"
	case autorebootv1.PhaseEvicting:
		return "has its pods evicted"
	case autorebootv1.PhaseSoaking:
		return "is available again, and must stay so for the soak"
	}
	return string(phase)
}

// setVerified sets the condition Verified from the latest restart. A restart that was not needed has no verdict. If it
// was the repetition of one that failed, that failure no longer counts.
func (c *conditionSet) setVerified(messages []restart.Message) {
	for i := range messages {
		ended := messages[i].Ended
		if ended == nil {
			continue
		}
		if ended.Result == autorebootv1.ResultSuperseded {
			c.endFailure(ended)
			continue
		}
		status, what := metav1.ConditionFalse, "failed"
		if ended.Result == autorebootv1.ResultSucceeded {
			status, what = metav1.ConditionTrue, "succeeded"
		}
		if ended.Message != "" {
			what += ": " + ended.Message
		}
		c.Set(autorebootv1.ConditionVerified, status, ended.Reason,
			fmt.Sprintf("restart %s of %s %s %s", ended.ID, ended.Target.Kind, ended.Target.Name, what))
	}
}

// endFailure removes the verdict that the latest restart failed, if it was a restart of the same workload.
func (c *conditionSet) endFailure(superseded *autorebootv1.RestartRecord) {
	verdict := meta.FindStatusCondition(c.status.Conditions, autorebootv1.ConditionVerified)
	if verdict == nil || verdict.Status != metav1.ConditionFalse || superseded.Reason != autorebootv1.ReasonNewerPods {
		return
	}
	for i := range c.status.History {
		record := &c.status.History[i]
		if record.Result == autorebootv1.ResultSuperseded {
			continue
		}
		if record.Target == superseded.Target {
			c.Set(autorebootv1.ConditionVerified, metav1.ConditionUnknown, autorebootv1.ReasonNewerPods, fmt.Sprintf(
				"restart %s of %s %s failed; since then another rollout has replaced the pods", record.ID, record.Target.Kind, record.Target.Name))
		}
		return
	}
}

// setStalled sets the condition Stalled: why a user must act, and how.
func (c *conditionSet) setStalled(o *observation) {
	switch h := c.status.Halt; {
	case o.invalid != "":
		c.Set(autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonInvalidSpec, o.invalid)
	case h != nil:
		c.Set(autorebootv1.ConditionStalled, metav1.ConditionTrue, h.Reason,
			fmt.Sprintf("%s %s: %s%s; %s", h.Target.Kind, h.Target.Name, haltText(h), o.askedFor(c.status, h),
				requests.HaltRemedy(o.policy, autorebootv1.RetryAnnotation, c.status.HandledRetry))+o.clockSkew)
	case slices.Contains([]string{autorebootv1.ReasonForbidden, autorebootv1.ReasonWriteRefused,
		autorebootv1.ReasonTooManyTargets}, c.problem):
		c.Set(autorebootv1.ConditionStalled, metav1.ConditionTrue, c.problem, events.Summarize(slices.Concat(c.messages, o.mistakes)))
	}
}

func haltText(halt *autorebootv1.Halt) string {
	switch halt.Reason {
	case autorebootv1.ReasonLimitReached:
		return "limit.maxRestarts is reached"
	case autorebootv1.ReasonTargetReverted:
		return fmt.Sprintf("restart %s was reverted by the workload's owner (Argo CD, Flux, Helm?); use the strategy Evict", halt.RecordID)
	case autorebootv1.ReasonVerificationFailed:
		return fmt.Sprintf("restart %s failed", halt.RecordID)
	}
	return fmt.Sprintf("restart %s ended with %s", halt.RecordID, halt.Reason)
}

// askedFor returns which triggers ask for the restart that a limit holds, as the end of a sentence. It names the
// sources that have changed since the last restart of the target, so that a user finds a source that changes without
// end.
func (o *observation) askedFor(status *autorebootv1.RebootPolicyStatus, h *autorebootv1.Halt) string {
	kind := common.KindOfGroup(h.Target.Group, h.Target.Kind)
	i := slices.IndexFunc(status.Targets, func(t autorebootv1.TargetStatus) bool { return t.Kind == kind && t.Name == h.Target.Name })
	if h.Reason != autorebootv1.ReasonLimitReached || i < 0 || status.Targets[i].Pending == nil {
		return ""
	}
	t := &status.Targets[i]
	text := "; the restart that waits is for " + strings.Join(t.Pending.Triggers, ", ")
	var changed []*restart.Signal
	if w := o.workload(t.UID); w != nil {
		for j := range w.Signals {
			s := &w.Signals[j]
			known, ok := o.baseline(w, s.Trigger, s.Source)
			if ok && !s.Level && s.Unknown == "" && s.Fingerprint != known && slices.Contains(t.Pending.Triggers, s.Trigger) {
				changed = append(changed, s)
			}
		}
	}
	if names := restart.ChangedText(changed); names != "" {
		text += " (" + names + ")"
	}
	return text
}
