// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// Actions of events.
const (
	actionPublish = "Publish"
	actionResolve = "Resolve"
	actionCheck   = "Check"
	actionVet     = "Vet"
	actionInject  = "InjectFault"
)

// maxEvents limits the events of one reason for one write of the status. The last one counts the rest.
const maxEvents = 3

// transition is a change that is recorded as an event.
type transition struct {
	reason, action, message string
	warning                 bool
	// endpoint that it is about; empty for the whole object.
	endpoint string
}

// transitions returns what has changed between two statuses. The write of the status records them, so that a
// retry records none twice. isRemoved means that the spec does not have any more what was published.
func transitions(before, after *networkingv1.ExternalServiceStatus, isRemoved bool) []transition {
	var out []transition
	out = append(out, readyTransition(before, after)...)
	out = append(out, faultTransitions(before, after)...)
	out = append(out, priorityTransitions(before, after, isRemoved)...)
	out = append(out, messageTransition(before, after, networkingv1.ConditionReady, foreignFieldsSet,
		transition{networkingv1.EventForeignFields, actionPublish, "", true, ""})...)
	out = append(out, messageTransition(before, after, networkingv1.ConditionReady, foreignSlicesFound,
		transition{networkingv1.EventForeignEndpoints, actionPublish, "", true, ""})...)
	out = append(out, messageTransition(before, after, networkingv1.ConditionResolved, endpoints.AddressesLeftOut,
		transition{networkingv1.EventAddressesLeftOut, actionResolve, "", true, ""})...)
	out = append(out, messageTransition(before, after, networkingv1.ConditionResolved, endpoints.TargetsLeftOut,
		transition{networkingv1.EventAddressDenied, actionVet, "", true, ""})...)
	for _, of := range []func(was, is *networkingv1.EndpointStatus) (transition, bool){deniedTransition, resolveFailed,
		addressesChanged, unhealthyTransition, healthyTransition} {
		var same []transition
		for i := range after.Endpoints {
			is := &after.Endpoints[i]
			if t, ok := of(formerOf(before, after, is), is); ok {
				same = append(same, t)
			}
		}
		if more := len(same) - maxEvents; more > 0 {
			same = same[:maxEvents]
			same[maxEvents-1].message += fmt.Sprintf("; the same for %s", events.Plural(more, "more endpoint", "more endpoints"))
		}
		out = append(out, same...)
	}
	return out
}

// formerOf returns what the status had of an endpoint, or nil. One of another name replaces those that are gone: it had the
// addresses that are still there, or else those of all that it replaces.
func formerOf(before, after *networkingv1.ExternalServiceStatus, is *networkingv1.EndpointStatus) *networkingv1.EndpointStatus {
	if was := endpoints.StatusOf(before, is.Name); was != nil {
		return was
	}
	var all, kept []networkingv1.AddressStatus
	for i := range before.Endpoints {
		gone := &before.Endpoints[i]
		if endpoints.StatusOf(after, gone.Name) != nil {
			continue
		}
		all = append(all, gone.Addresses...)
		for j := range gone.Addresses {
			if sameAddress(is, &gone.Addresses[j], j) != nil {
				kept = append(kept, gone.Addresses[j])
			}
		}
	}
	if len(kept) > 0 {
		all = kept
	}
	if len(all) == 0 {
		return nil
	}
	return &networkingv1.EndpointStatus{Name: is.Name, Addresses: all}
}

// readyTransition is a Ready condition with another status or reason.
func readyTransition(before, after *networkingv1.ExternalServiceStatus) []transition {
	was := meta.FindStatusCondition(before.Conditions, networkingv1.ConditionReady)
	is := meta.FindStatusCondition(after.Conditions, networkingv1.ConditionReady)
	if is == nil || was != nil && was.Status == is.Status && (was.Reason == is.Reason || is.Status == metav1.ConditionTrue) {
		return nil // a suspension takes nothing away
	}
	warning := is.Status != metav1.ConditionTrue && is.Reason != networkingv1.ReasonDraining
	return []transition{{is.Reason, actionPublish, is.Message, warning, ""}}
}

// messageTransition is a condition whose message now contains what it did not contain before.
func messageTransition(before, after *networkingv1.ExternalServiceStatus, kind, what string, t transition) []transition {
	messageOf := func(status *networkingv1.ExternalServiceStatus) string {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil && strings.Contains(c.Message, what) {
			return c.Message
		}
		return ""
	}
	if t.message = messageOf(after); t.message == "" || messageOf(before) != "" {
		return nil
	}
	return []transition{t}
}

func between(what string, was, is int32) string {
	return fmt.Sprintf("%s from priority %d to priority %d", what, was, is)
}

// priorityTransitions are another active priority, a panic that begins, and a refused request to fail back.
func priorityTransitions(before, after *networkingv1.ExternalServiceStatus, isRemoved bool) []transition {
	var out []transition
	if was, is := before.ActivePriority, after.ActivePriority; was != nil && is != nil && (*was != *is || isRemoved) {
		t := transition{networkingv1.EventFailedBack, actionPublish, between("failed back", *was, *is), false, ""}
		if *is >= *was {
			t = transition{networkingv1.EventFailedOver, actionPublish, between("failed over", *was, *is), true, ""}
		}
		if isRemoved {
			t.message += ": the spec no longer has an active endpoint of the published priority"
		}
		out = append(out, t)
	}
	if isPanicking(after) && !isPanicking(before) {
		out = append(out, transition{networkingv1.EventPanicEntered, actionPublish,
			fmt.Sprintf("no address of any priority is healthy: all of priority %d are published as ready", ptr.Deref(after.ActivePriority, 0)), true, ""})
	}
	if isFailbackRefused(before, after) {
		_, why := whyFailbackIsRefused(after)
		out = append(out, transition{networkingv1.EventFailbackRefused, actionPublish,
			fmt.Sprintf("priority %d stays published: %s", *after.ActivePriority, why), true, ""})
	}
	return out
}

// isFailbackRefused reports whether a request to fail back was handled and has changed nothing.
func isFailbackRefused(before, after *networkingv1.ExternalServiceStatus) bool {
	return after.HandledFailbackNow != before.HandledFailbackNow && after.ActivePriority != nil &&
		ptr.Equal(before.ActivePriority, after.ActivePriority) && meta.IsStatusConditionTrue(after.Conditions, networkingv1.ConditionFailedOver)
}

// whyFailbackIsRefused returns the reason and the words for it.
func whyFailbackIsRefused(after *networkingv1.ExternalServiceStatus) (reason, why string) {
	if after.Fault.Lasts() {
		return networkingv1.ReasonFaultInjected, "a fault is injected"
	}
	return networkingv1.ReasonPriorityUnhealthy, "no more preferred one has enough healthy addresses"
}

// isPanicking reports whether addresses are published as ready although none is healthy. Without a health check
// all are healthy.
func isPanicking(status *networkingv1.ExternalServiceStatus) bool {
	return status.Addresses != nil && status.Addresses.Healthy == 0 && status.Addresses.Published > 0
}

func deniedTransition(was, is *networkingv1.EndpointStatus) (transition, bool) {
	return addressTransition(was, is, networkingv1.EventAddressDenied, actionVet, true, "refused by the egress policy",
		func(before, now *networkingv1.AddressStatus) bool { return isDenied(now) && !isDenied(before) })
}

func isDenied(a *networkingv1.AddressStatus) bool {
	return a != nil && a.Health == "" && a.Reason == networkingv1.ProbeDenied
}

func unhealthyTransition(was, is *networkingv1.EndpointStatus) (transition, bool) {
	return addressTransition(was, is, networkingv1.EventEndpointUnhealthy, actionCheck, true, "unhealthy",
		func(before, now *networkingv1.AddressStatus) bool {
			return now.Health == networkingv1.AddressUnhealthy && (before == nil || before.Health != networkingv1.AddressUnhealthy)
		})
}

// healthyTransition is an address that is healthy again. A new one that is healthy is no transition.
func healthyTransition(was, is *networkingv1.EndpointStatus) (transition, bool) {
	return addressTransition(was, is, networkingv1.EventEndpointHealthy, actionCheck, false, "healthy again",
		func(before, now *networkingv1.AddressStatus) bool {
			return now.Health == networkingv1.AddressHealthy && before != nil && before.Health == networkingv1.AddressUnhealthy
		})
}

// addressTransition is about the addresses of an endpoint for which has returns true.
func addressTransition(
	was, is *networkingv1.EndpointStatus, reason, action string, warning bool, what string,
	has func(before, now *networkingv1.AddressStatus) bool,
) (transition, bool) {
	var list []string
	for i := range is.Addresses {
		now := &is.Addresses[i]
		if !has(sameAddress(was, now, i), now) {
			continue
		}
		text := now.IP
		if now.Reason != "" && now.Health == networkingv1.AddressUnhealthy {
			text += " (" + now.Reason + ")"
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return transition{}, false
	}
	named := strings.Join(list[:min(len(list), events.MaxNamed)], ", ")
	if len(list) > events.MaxNamed {
		named += ", ..."
	}
	message := fmt.Sprintf("endpoint %q: %s of %d %s: %s", is.Name, events.Plural(len(list), "address", "addresses"),
		len(is.Addresses), what, named)
	return transition{reason, action, message, warning, is.Name}, true
}

// resolveFailed is a name that does not resolve any more, or does not at its first lookup.
func resolveFailed(was, is *networkingv1.EndpointStatus) (transition, bool) {
	if is.DNSName == "" || endpoints.IsResolved(is.Reason) || was != nil && was.DNSName == is.DNSName && !endpoints.IsResolved(was.Reason) {
		return transition{}, false
	}
	message := fmt.Sprintf("endpoint %q: %s does not resolve: %s", is.Name, is.DNSName, is.Reason)
	if n := len(is.Addresses); n > 0 && is.Reason == networkingv1.ReasonStale {
		message += fmt.Sprintf(", %s kept", events.Plural(n, "address is", "addresses are"))
	}
	return transition{networkingv1.EventResolveFailed, actionResolve, message, true, is.Name}, true
}

// addressesChanged is a name that resolves to other addresses than before, or other addresses in the spec.
func addressesChanged(was, is *networkingv1.EndpointStatus) (transition, bool) {
	if was == nil || was.DNSName != is.DNSName || is.DNSName != "" && was.ResolvedTime == nil {
		return transition{}, false
	}
	added, removed := 0, 0
	for i := range is.Addresses {
		if sameAddress(was, &is.Addresses[i], i) == nil {
			added++
		}
	}
	for i := range was.Addresses {
		if sameAddress(is, &was.Addresses[i], i) == nil {
			removed++
		}
	}
	if added+removed == 0 {
		return transition{}, false
	}
	name, action := "the spec has", actionPublish
	if is.DNSName != "" {
		name, action = is.DNSName+" resolves to", actionResolve
	}
	return transition{networkingv1.EventAddressesChanged, action, fmt.Sprintf("endpoint %q: %s %s (%d added, %d removed)",
		is.Name, name, events.Plural(len(is.Addresses), "address", "addresses"), added, removed), false, is.Name}, true
}

// recordEvents records transitions as events of the object, and counts them.
func (r *Reconciler) recordEvents(es *networkingv1.ExternalService, all []transition) {
	for _, t := range all {
		kind := corev1.EventTypeNormal
		if t.warning {
			kind = corev1.EventTypeWarning
		}
		var regarding runtime.Object = es
		if t.endpoint != "" { // events of one endpoint are a series of their own
			regarding = events.FieldReference(r.Client.Scheme(), es, "spec.endpoints{"+t.endpoint+"}")
		}
		r.Events.Eventf(regarding, nil, kind, t.reason, t.action, "%s", t.message)
		switch t.reason {
		case networkingv1.EventFailedOver:
			r.metrics.countFailover(es.Namespace, es.Name)
		case networkingv1.EventFaultInjected, networkingv1.EventFaultEnded, networkingv1.EventFaultRefused:
			r.metrics.countFaultEvent(t.reason)
		}
	}
}

// faultTransitions are a fault that begins, ends or is refused.
func faultTransitions(before, after *networkingv1.ExternalServiceStatus) []transition {
	was := meta.FindStatusCondition(before.Conditions, networkingv1.ConditionFaultInjected)
	is := meta.FindStatusCondition(after.Conditions, networkingv1.ConditionFaultInjected)
	switch {
	case after.Fault.Lasts() && !before.Fault.Lasts():
		return []transition{{networkingv1.EventFaultInjected, actionInject, is.Message, true, ""}}
	case before.Fault.Lasts() && !after.Fault.Lasts():
		bad := after.Fault.DependantsStayedReady == metav1.ConditionFalse || after.Fault.Outcome != networkingv1.FaultOutcomeDeadlineReached &&
			after.Fault.Outcome != networkingv1.FaultOutcomeWithdrawn
		return []transition{{networkingv1.EventFaultEnded, actionInject, failover.EndMessage(after.Fault), bad, ""}}
	case is != nil && is.Reason == networkingv1.ReasonFaultRefused && (was == nil || was.Reason != is.Reason || was.Message != is.Message):
		return []transition{{networkingv1.EventFaultRefused, actionInject, is.Message, true, ""}}
	}
	return nil
}
