// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Events about faults, and what the operator was doing.
const (
	eventFaultInjected = "FaultInjected"
	eventFaultEnded    = "FaultEnded"
	eventFaultRefused  = "FaultRefused"
	actionInject       = "InjectFault"
)

// setFault records what was decided about a fault.
func (r *statusUpdate) setFault(f *faultDecision, asked string) {
	r.status.Fault = f.status
	set := func(status metav1.ConditionStatus, reason, message string) {
		r.setCondition(networkingv1.ConditionFaultInjected, status, reason, message)
	}
	switch s := f.status; {
	case s.Lasts():
		set(metav1.ConditionTrue, string(s.Type), faultWords(s)+" until "+s.Deadline.UTC().Format(time.RFC3339))
	case asked == "":
		r.removeCondition(networkingv1.ConditionFaultInjected)
	case f.reason != "":
		set(metav1.ConditionFalse, f.reason, f.message)
	case s.Outcome == networkingv1.FaultOutcomeRefused:
		set(metav1.ConditionFalse, networkingv1.ReasonFaultRefused, s.Message)
	default:
		set(metav1.ConditionFalse, networkingv1.ReasonFaultEnded, endWords(s))
	}
}

// setFaultWhileSuspended records, of an object that is suspended or whose spec is not valid, that no fault begins.
func (r *statusUpdate) setFaultWhileSuspended(asked string, now time.Time) {
	switch f := r.status.Fault; {
	case f.Lasts():
		if f.Type == networkingv1.FaultBlackHole { // which suspended has taken back
			endFault(f, networkingv1.FaultOutcomeSpecChanged, "the spec is not valid any more", now)
			r.setFault(&faultDecision{status: f}, asked)
		}
	case asked == "", f != nil && f.Request == asked:
		r.setFault(&faultDecision{status: f}, asked)
	default:
		r.setFault(&faultDecision{status: f, reason: networkingv1.ReasonFaultPending, message: "nothing is done while spec.suspend is true or the spec is not valid"}, asked)
	}
}

// faultWords say what a fault does.
func faultWords(f *networkingv1.FaultStatus) string {
	switch f.Type {
	case networkingv1.FaultDrain:
		return fmt.Sprintf("nothing of endpoint %q is published", f.Endpoint)
	case networkingv1.FaultFailOver:
		return "the next priority is published although no failover is needed"
	case networkingv1.FaultBlackHole:
	}
	return "no address is published as ready"
}

// endWords say how a fault ended, and how its dependants fared.
func endWords(f *networkingv1.FaultStatus) string {
	count := map[networkingv1.DependantReadiness]int{}
	for _, d := range f.Dependants {
		count[d.Ready]++
	}
	words := fmt.Sprintf("%s ended after %s: %s: %s; ", f.Type, f.EndTime.Sub(f.StartTime.Time), f.Outcome, f.Message)
	all := plural(len(f.Dependants), "dependant", "dependants")
	switch f.DependantsStayedReady {
	case metav1.ConditionTrue:
		return words + all + " stayed ready"
	case metav1.ConditionFalse:
		return words + fmt.Sprintf("%d of %s became unready, the first is %s %s",
			count[networkingv1.DependantBecameUnready], all, f.Dependants[0].Kind, f.Dependants[0].Name)
	}
	if len(f.Dependants) == 0 {
		return words + "no RebootPolicy names this ExternalService"
	}
	return words + fmt.Sprintf("%d of %s stayed ready, the others were not ready before or could not be read",
		count[networkingv1.DependantStayedReady], all)
}

// faultTransitions is a fault that begins, ends or is refused.
func faultTransitions(before, after *networkingv1.ExternalServiceStatus) []transition {
	was := meta.FindStatusCondition(before.Conditions, networkingv1.ConditionFaultInjected)
	is := meta.FindStatusCondition(after.Conditions, networkingv1.ConditionFaultInjected)
	switch {
	case after.Fault.Lasts() && !before.Fault.Lasts():
		return []transition{{eventFaultInjected, actionInject, is.Message, true, ""}}
	case before.Fault.Lasts() && !after.Fault.Lasts():
		bad := after.Fault.DependantsStayedReady == metav1.ConditionFalse || after.Fault.Outcome != networkingv1.FaultOutcomeDeadlineReached &&
			after.Fault.Outcome != networkingv1.FaultOutcomeWithdrawn
		return []transition{{eventFaultEnded, actionInject, endWords(after.Fault), bad, ""}}
	case is != nil && is.Reason == networkingv1.ReasonFaultRefused && (was == nil || was.Reason != is.Reason || was.Message != is.Message):
		return []transition{{eventFaultRefused, actionInject, is.Message, true, ""}}
	}
	return nil
}
