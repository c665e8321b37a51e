// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// notHolding are the reasons of Stalled with which an object of a kind still acts on requests.
var notHolding = map[string][]string{
	ExternalService: {networkingv1.ReasonPolicyDenied},
	RebootPolicy:    {common.ReasonForbidden, common.ReasonWriteRefused, autorebootv1.ReasonTooManyTargets},
}

const heldByState = "No request overrides it while the object is suspended or stalled: the findings Suspended and Stalled say what ends that."

// ignores reports whether a request to an object has no effect now, for which a finding has a reason. The sentence why may be empty.
func (e *explainer) ignores(o *Object, verb, reason string) (is bool, why string) {
	s := stateOf(o.Source)
	stalled := s.find(common.ConditionStalled)
	isStalled := stalled != nil && stalled.Status == metav1.ConditionTrue
	switch {
	case o.Source == nil || o.Source.GetDeletionTimestamp() != nil || e.graph.leaderless(o.Key) != nil:
		return true, ""
	case verb == VerbRetry:
		isHalted := hasHalted(o) && (!isStalled || stalled.Reason != common.ReasonInvalidSpec)
		return !isHalted, ""
	case isTrue(s, common.ConditionSuspended), isStalled && !slices.Contains(notHolding[o.Kind], stalled.Reason):
		return true, heldByState
	case verb == VerbFailback && isUnknown(s, networkingv1.ConditionHealthy, networkingv1.ReasonProbesInconclusive):
		return true, "No request overrides it while so many checks fail: the finding Healthy says what ends that."
	}
	policy, is := o.Source.(*autorebootv1.RebootPolicy)
	switch {
	case !is:
	case verb == VerbApprove && (policy.Status.PendingApproval == "" || slices.ContainsFunc(policy.Status.Targets, isForUnknown)):
		return true, "Nothing can be approved until it is known again what asked for the restart."
	case verb == VerbRestart && reason == autorebootv1.ReasonBackoff && !slices.ContainsFunc(policy.Status.Targets, isRetried):
		return true, "No request overrides it: the restart of another workload of the policy has failed, waits as well, and is tried again first."
	}
	return false, ""
}

// isRetried reports whether the restart of a target has failed, and waits for its next attempt. Others wait for that.
func isRetried(t autorebootv1.TargetStatus) bool {
	return t.Pending != nil && t.Pending.Reason == autorebootv1.ReasonBackoff && t.LastRestartTime != nil &&
		!t.Pending.FirstRequestTime.After(t.LastRestartTime.Time)
}

// isForUnknown reports whether what asked for a restart cannot be observed. Nothing is approved then, as it may be for something else.
func isForUnknown(t autorebootv1.TargetStatus) bool {
	return t.Pending != nil && t.Pending.Reason == autorebootv1.ReasonSourceUnknown
}

// hasHalted reports whether an object waits for a request to retry.
func hasHalted(o *Object) bool {
	switch of := o.Source.(type) {
	case *autorebootv1.RebootPolicy:
		return of.Status.Halt != nil
	case *chaosv1.ChaosPod:
		return of.Status.Halt != nil
	}
	return false
}

// isHaltedFor reports whether what is said of an object is why it has halted.
func isHaltedFor(o *Object, about, reason string) bool {
	stalled := stateOf(o.Source).find(common.ConditionStalled)
	isReason := stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == reason
	return hasHalted(o) && (about == common.ConditionStalled || isReason)
}

func isTrue(s state, condition string) bool {
	c := s.find(condition)
	return c != nil && c.Status == metav1.ConditionTrue
}

func isUnknown(s state, condition, reason string) bool {
	c := s.find(condition)
	return c != nil && c.Status == metav1.ConditionUnknown && c.Reason == reason
}
