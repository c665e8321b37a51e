// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// maxMessage keeps a message readable in `kubectl describe`, in bytes.
const maxMessage = 1024

// conditions builds the conditions of a status upon those that stand in it, so that they keep their
// transition times.
type conditions struct {
	status     *autorebootv1.RebootPolicyStatus
	generation int64
	now        metav1.Time
}

func (r *conditions) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: cut(message),
		ObservedGeneration: r.generation, LastTransitionTime: r.now,
	})
}

// clear removes a condition. Never clear and set: the condition would be a new one at each look,
// with a new time, and the status would be written for that alone.
func (r *conditions) clear(kind string) { meta.RemoveStatusCondition(&r.status.Conditions, kind) }

func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}

// withConditions completes a status that was decided: conditions, and what the calendar allows. message is
// on the restart that waits longest, and notices tell what has ended.
func (o *observation) withConditions(status *autorebootv1.RebootPolicyStatus, message string, notices []restart.Message) *autorebootv1.RebootPolicyStatus {
	out := status.DeepCopy()
	out.ObservedGeneration = o.policy.Generation
	out.NextAllowedTime = o.nextAllowed()
	r := &conditions{status: out, generation: o.policy.Generation, now: metav1.NewTime(o.now)}
	r.ready(o)
	r.pending(o, message)
	r.progressing()
	r.verified(notices)
	r.stalled(o)
	r.suspended(o)
	r.blocked(o)
	return out
}

// nextAllowed is when windows and blackouts let a restart start; nil while they do.
func (o *observation) nextAllowed() *metav1.Time {
	c := o.calendar
	if c.Broken || c.Window && !c.Blackout || c.NextOpen.IsZero() {
		return nil
	}
	return ptr.To(metav1.NewTime(c.NextOpen.UTC()))
}

// ready tells whether everything that the spec names is watched. That a restart waits, or has failed,
// does not make it false.
func (r *conditions) ready(o *observation) {
	if reason, messages := o.worstProblem(); reason != "" {
		r.set(autorebootv1.ConditionReady, metav1.ConditionFalse, reason, some(messages))
		return
	}
	c := o.calendar
	message := fmt.Sprintf("%s by %s",
		plural(o.selectedCount(), "workload is watched", "workloads are watched"), plural(len(o.policy.Spec.Triggers), "trigger", "triggers"))
	if c.Cluster != "" {
		message += "; no restart starts now: " + c.Cluster
	} else if !c.Broken && (!c.Window || c.Blackout) && c.NextOpen.IsZero() {
		message += "; no restart ever starts: no window is open outside of the blackouts"
	}
	r.set(autorebootv1.ConditionReady, metav1.ConditionTrue, autorebootv1.ReasonWatching, message)
}

// pending tells what a restart waits for.
func (r *conditions) pending(o *observation, message string) {
	longest := longestWaiting(r.status)
	if longest == nil {
		r.clear(autorebootv1.ConditionRestartPending)
		return
	}
	if message == "" {
		message = fmt.Sprintf("%s %s waits", longest.Kind, longest.Name)
	}
	if o.blockedBy != "" {
		message = fmt.Sprintf("%s %s: blocked until Ready is no longer %s", longest.Kind, longest.Name, o.blockedBy)
	}
	if n := waiting(r.status); n > 1 {
		message += fmt.Sprintf(" (and %s)", plural(n-1, "more workload waits", "more workloads wait"))
	}
	r.set(autorebootv1.ConditionRestartPending, metav1.ConditionTrue, longest.Pending.Reason, message)
}

// longestWaiting is the target that waits longest; nil where none does.
func longestWaiting(status *autorebootv1.RebootPolicyStatus) *autorebootv1.TargetStatus {
	var longest *autorebootv1.TargetStatus
	for i := range status.Targets {
		t := &status.Targets[i]
		if t.Pending == nil || t.Pending.Reason == "" {
			continue
		}
		if longest == nil || t.Pending.Since.Before(&longest.Pending.Since) {
			longest = t
		}
	}
	return longest
}

func waiting(status *autorebootv1.RebootPolicyStatus) int {
	n := 0
	for i := range status.Targets {
		if p := status.Targets[i].Pending; p != nil && p.Reason != "" {
			n++
		}
	}
	return n
}

// progressing tells what is being restarted.
func (r *conditions) progressing() {
	var all []string
	for i := range r.status.InFlight {
		f := &r.status.InFlight[i]
		what := phaseText(f.Phase)
		if f.BlockedBy != "" {
			what += ", which the PodDisruptionBudget " + f.BlockedBy + " refuses"
		}
		all = append(all, fmt.Sprintf("%s %s: %s (%s)", f.Kind, f.Name, what, strings.Join(f.Triggers, ", ")))
	}
	if len(all) == 0 {
		r.clear(autorebootv1.ConditionProgressing)
		return
	}
	r.set(autorebootv1.ConditionProgressing, metav1.ConditionTrue, autorebootv1.ReasonRestarting, some(all))
}

// phaseText is what a restart does in a phase, in words.
func phaseText(phase autorebootv1.RestartPhase) string {
	switch phase {
	case autorebootv1.PhasePlanned:
		return "is about to be restarted"
	case autorebootv1.PhaseRollingOut:
		return "rolls out"
	case autorebootv1.PhaseEvicting:
		return "has its pods evicted"
	case autorebootv1.PhaseSoaking:
		return "is available again, and watched for a while"
	}
	return string(phase)
}

// verified is the verdict on the latest restart. A restart that was not needed has none.
func (r *conditions) verified(notices []restart.Message) {
	for i := range notices {
		ended := notices[i].Ended
		if ended == nil || ended.Result == autorebootv1.ResultSuperseded {
			continue
		}
		status, what := metav1.ConditionFalse, "failed"
		if ended.Result == autorebootv1.ResultSucceeded {
			status, what = metav1.ConditionTrue, "succeeded"
		}
		if ended.Message != "" {
			what += ": " + ended.Message
		}
		r.set(autorebootv1.ConditionVerified, status, ended.Reason,
			fmt.Sprintf("restart %s of %s %s %s", ended.ID, ended.Target.Kind, ended.Target.Name, what))
	}
}

// stalled tells that a person must act, and how.
func (r *conditions) stalled(o *observation) {
	halt := r.status.Halt
	switch {
	case o.invalid != "":
		r.set(autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonInvalidSpec, o.invalid)
	case halt != nil:
		r.set(autorebootv1.ConditionStalled, metav1.ConditionTrue, halt.Reason, fmt.Sprintf(
			"%s %s: %s; to go on, change the spec, or set the annotation %s to the present time (RFC 3339)",
			halt.Target.Kind, halt.Target.Name, haltText(halt), autorebootv1.ResumeAnnotation))
	default:
		reason, messages := o.worstProblem()
		if reason != autorebootv1.ReasonForbidden && reason != autorebootv1.ReasonTooManyTargets {
			r.clear(autorebootv1.ConditionStalled)
			return
		}
		r.set(autorebootv1.ConditionStalled, metav1.ConditionTrue, reason, some(messages))
	}
}

func haltText(halt *autorebootv1.Halt) string {
	switch halt.Reason {
	case autorebootv1.ReasonLimitReached:
		return "limit.maxRestarts is used up"
	case autorebootv1.ReasonTargetReverted:
		return fmt.Sprintf("restart %s was reverted by the workload's owner (Argo CD, Flux, Helm?); use the strategy Evict", halt.RestartID)
	case autorebootv1.ReasonVerificationFailed:
		return fmt.Sprintf("restart %s failed", halt.RestartID)
	}
	return fmt.Sprintf("restart %s ended with %s", halt.RestartID, halt.Reason)
}

func (r *conditions) suspended(o *observation) {
	if !ptr.Deref(o.policy.Spec.Suspend, false) {
		r.clear(autorebootv1.ConditionSuspended)
		return
	}
	r.set(autorebootv1.ConditionSuspended, metav1.ConditionTrue, autorebootv1.ReasonSuspended,
		"no restart starts while spec.suspend is true; one in flight is seen through")
}

// blocked tells of what would keep a restart from going on, before there is one.
func (r *conditions) blocked(o *observation) {
	if len(o.budgetBlocks) == 0 {
		r.clear(autorebootv1.ConditionDisruptionBudgetBlocks)
		return
	}
	r.set(autorebootv1.ConditionDisruptionBudgetBlocks, metav1.ConditionTrue, autorebootv1.ReasonDisruptionBudgetBlocks,
		some(o.budgetBlocks)+"; a restart would be refused as well")
}
