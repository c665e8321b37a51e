// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// Parts of messages that become events as well.
const (
	foreignFieldsSet   = "fields of the Service that other writers have set are kept"
	foreignSlicesFound = "EndpointSlices of other writers receive traffic of the Service, unchecked"
)

// Messages of conditions that are false while nothing is out of the ordinary.
const (
	nothingPublished = "no address is published"
	noFaultRequested = "no fault is requested"
)

// setReady sets whether the Service and its slices are as the spec says. Unhealthy addresses do not make it
// false.
func (u *statusUpdate) setReady(
	es *networkingv1.ExternalService, o *failover.Observation, d *failover.Choice, service *corev1.Service, sliceCount int,
	foreignSlices []string,
) {
	var refused []string
	for i := range o.Endpoints {
		for j := range o.Endpoints[i].Addresses {
			if a := &o.Endpoints[i].Addresses[j]; a.DeniedReason != "" && o.Endpoints[i].DNS == nil {
				refused = append(refused, fmt.Sprintf("endpoint %q: %s %s (%s)", o.Endpoints[i].Name, a.IP, a.DeniedDetail, a.DeniedReason))
			}
		}
	}
	if len(refused) > 0 {
		u.setStalled(networkingv1.ReasonPolicyDenied, events.Summarize(refused)+": left out; take it out of the spec, or have the egress policy allow it")
		return
	}
	u.Remove(networkingv1.ConditionStalled)
	if len(d.Wanted()) == 0 {
		u.Set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses,
			"no endpoint that is Active has addresses: the Service has no endpoints"+unreachableMessage(o))
		return
	}
	message := fmt.Sprintf("%s in %s behind Service %s", events.Plural(len(d.Wanted()), "address", "addresses"),
		events.Plural(sliceCount, "EndpointSlice", "EndpointSlices"), service.Name)
	if ready := d.ReadyCount(); ready < len(d.Published) {
		message += fmt.Sprintf(", %d of them ready", ready+len(d.Outgoing))
	}
	if u.outgoing != "" {
		message += "; " + u.outgoing
	}
	message += unreachableMessage(o)
	if fields := publication.ForeignFields(service, es); len(fields) > 0 {
		message += "; " + foreignFieldsSet + ": " + strings.Join(fields, ", ")
	}
	if len(foreignSlices) > 0 {
		message += "; " + foreignSlicesFound + ": " + events.Summarize(foreignSlices)
	}
	u.Set(networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished, message)
}

// outgoingMessage returns what stays published of what the spec does not choose any more, or "".
func outgoingMessage(d *failover.Choice) string {
	if len(d.Outgoing) == 0 {
		return ""
	}
	return events.Plural(len(d.Outgoing), "address that the spec no longer selects stays",
		"addresses that the spec no longer selects stay") + " until their replacements are looked up and checked"
}

// unreachableMessage returns what of the endpoints is left out since the Service lacks its family, or "".
func unreachableMessage(o *failover.Observation) string {
	var all []string
	for i := range o.Endpoints {
		if e := &o.Endpoints[i]; e.Unreachable > 0 && !e.IsDrained {
			all = append(all, fmt.Sprintf("endpoint %q: %s left out", e.Name, events.Plural(e.Unreachable, "address is", "addresses are")))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; of a family that the Service lacks (spec.ipFamilies): " + events.Summarize(all)
}

// setResolved sets whether every name resolves. Drained endpoints do not count.
func (u *statusUpdate) setResolved(o *failover.Observation) {
	var worst string
	var broken, left []string
	names := 0
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		if e.State == nil || e.IsDrained {
			continue
		}
		names++
		reason := e.Reason()
		if reason == networkingv1.ReasonResolved {
			if text := e.LeftOutMessage(); text != "" {
				left = append(left, text)
			}
			continue
		}
		if reasonRank(reason) > reasonRank(worst) {
			worst = reason
		}
		broken = append(broken, e.ResolveMessage(reason))
	}
	switch {
	case names == 0:
		u.setStatic()
	case len(broken) == 0:
		u.Set(networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved,
			events.Summarize(append([]string{events.Plural(names, "name resolves", "names resolve")}, left...)))
	case worst == "":
		u.Set(networkingv1.ConditionResolved, metav1.ConditionUnknown, networkingv1.ReasonUnknown, events.Summarize(broken))
	default:
		u.Set(networkingv1.ConditionResolved, metav1.ConditionFalse, worst, events.Summarize(broken))
	}
}

// setStatic sets that there is no name to look up.
func (u *statusUpdate) setStatic() {
	u.Set(networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonStaticAddresses,
		"no endpoint that is Active has a DNS name")
}

// reasonRank orders reasons: the condition has the worst one of all endpoints.
func reasonRank(reason string) int {
	return 1 + slices.Index([]string{
		"", networkingv1.ReasonStale, networkingv1.ReasonTimeout, networkingv1.ReasonServFail,
		networkingv1.ReasonTruncated, networkingv1.ReasonAliasLoop, networkingv1.ReasonNXDomain, networkingv1.ReasonDenied,
	}, reason)
}

// setHealthy sets whether every address of the active priority is healthy.
func (u *statusUpdate) setHealthy(es *networkingv1.ExternalService, o *failover.Observation, d *failover.Choice) {
	if es.Spec.HealthCheck == nil {
		u.setUnchecked()
		return
	}
	healthy, unknown := 0, 0
	for _, p := range d.Published {
		switch p.Health {
		case networkingv1.AddressHealthy:
			healthy++
		case networkingv1.AddressUnhealthy:
		default:
			unknown++
		}
	}
	all := len(d.Published)
	status, reason, message := metav1.ConditionFalse, networkingv1.ReasonDegraded, ""
	if all > 0 {
		message = fmt.Sprintf("%d of %s of priority %d healthy", healthy, events.Plural(all, "address", "addresses"), *d.Active)
	}
	switch {
	case o.UncheckedReason != "":
		status, reason, message = metav1.ConditionUnknown, networkingv1.ReasonSecretUnavailable, o.UncheckedReason
	case o.IsSuspect:
		status, reason = metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive
		message = "so many checks fail at once that the fault is probably the operator's own: health stays as it was"
	case all == 0:
		status, reason, message = metav1.ConditionUnknown, networkingv1.ReasonUnknown, "there is no address to check"
	case healthy == all:
		status, reason = metav1.ConditionTrue, networkingv1.ReasonAllHealthy
	case healthy == 0 && unknown > 0:
		status, reason = metav1.ConditionUnknown, networkingv1.ReasonUnknown
		message += fmt.Sprintf(", %d not checked yet", unknown)
	case healthy == 0:
		reason = networkingv1.ReasonNoneHealthy
		if d.IsPanicking {
			message += ", and none of the other priorities: all are published as ready (panicThresholdPercent)"
		}
	case unknown > 0:
		message += fmt.Sprintf(", %d not checked yet", unknown)
	}
	flapping := 0
	for _, a := range endpoints.Active(o.Endpoints) {
		if a.IsFlapping {
			flapping++
		}
	}
	if flapping > 0 {
		message += fmt.Sprintf("; the health of %s, and is held",
			events.Plural(flapping, "address changes too often", "addresses changes too often"))
	}
	u.Set(networkingv1.ConditionHealthy, status, reason, message)
}

// setUnchecked sets that no address is ever checked.
func (u *statusUpdate) setUnchecked() {
	u.Set(networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonNoHealthCheck, "the spec has no healthCheck: each address counts as healthy")
}

// setFailedOver sets whether a priority other than the lowest is published.
func (u *statusUpdate) setFailedOver(o *failover.Observation, d *failover.Choice) {
	switch {
	case d.Active == nil:
		u.Set(networkingv1.ConditionFailedOver, metav1.ConditionFalse, networkingv1.ReasonNothingPublished, nothingPublished)
	case *d.Active <= failover.LowestPriority(o.Endpoints):
		u.Set(networkingv1.ConditionFailedOver, metav1.ConditionFalse, networkingv1.ReasonMostPreferred,
			fmt.Sprintf("priority %d is published, the most preferred one", *d.Active))
	case o.IsSuspect && meta.IsStatusConditionTrue(u.status.Conditions, networkingv1.ConditionFailedOver):
		// It stays as it was, like health.
	case u.status.Fault.Lasts():
		u.Set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFaultInjected,
			fmt.Sprintf("priority %d is published because a fault is injected", *d.Active))
	case d.PendingFailback != nil && d.AwaitsRequest:
		u.Set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackManual,
			fmt.Sprintf("priority %d is published although priority %d is healthy again: failback is Manual; set the annotation %s to fail back",
				*d.Active, *d.PendingFailback, networkingv1.FailbackNowAnnotation))
	case d.PendingFailback != nil:
		u.Set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackDelay,
			fmt.Sprintf("priority %d is published; priority %d is healthy again, and is published once failbackDelay has passed", *d.Active, *d.PendingFailback))
	default:
		u.Set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy,
			fmt.Sprintf("failed over to priority %d: no more preferred one has enough healthy addresses", *d.Active))
	}
}

// setFault sets the decision about a fault.
func (u *statusUpdate) setFault(f *failover.FaultDecision, asked string) {
	u.status.Fault = f.Status
	set := func(status metav1.ConditionStatus, reason, message string) {
		u.Set(networkingv1.ConditionFaultInjected, status, reason, message)
	}
	switch s := f.Status; {
	case s.Lasts():
		message := faultWords(s) + " until " + s.DeadlineTime.UTC().Format(time.RFC3339)
		if f.Mistakes != "" {
			message += "; " + f.Mistakes
		}
		set(metav1.ConditionTrue, string(s.Type), message)
	case asked == "":
		set(metav1.ConditionFalse, networkingv1.ReasonNoFaultRequested, noFaultRequested)
	case f.Reason != "":
		set(metav1.ConditionFalse, f.Reason, f.Message)
	case s.Outcome == networkingv1.FaultOutcomeRefused:
		set(metav1.ConditionFalse, networkingv1.ReasonFaultRefused, s.Message)
	default:
		set(metav1.ConditionFalse, networkingv1.ReasonFaultEnded, failover.EndMessage(s))
	}
}

// setFaultWhileSuspended sets that no fault begins while an object is suspended or its spec is not valid. One that lasts was
// undone.
func (u *statusUpdate) setFaultWhileSuspended(es *networkingv1.ExternalService, now time.Time) {
	if u.status.Fault.Lasts() {
		u.endFault(es, "the spec is no longer valid")
		return
	}
	decided := failover.RefuseFault(es, u.status.Fault, "no fault begins while spec.suspend is true or the spec is not valid", now)
	u.setFault(&decided, es.Annotations[networkingv1.InjectFaultAnnotation])
}

// endFault sets that a fault that lasts has ended since the object is not what it was.
func (u *statusUpdate) endFault(es *networkingv1.ExternalService, why string) {
	failover.EndFault(u.status.Fault, networkingv1.FaultOutcomeSpecChanged, why, u.Now.Time)
	u.setFault(&failover.FaultDecision{Status: u.status.Fault}, es.Annotations[networkingv1.InjectFaultAnnotation])
}

// faultWords returns what a fault does.
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

// setDenied sets what the policy denies.
func (u *statusUpdate) setDenied(s *failover.Suspension) {
	if len(s.Denied) == 0 {
		return
	}
	u.setStalled(networkingv1.ReasonPolicyDenied,
		events.Summarize(s.Denied)+": not published, although nothing else is changed now; take it out of the spec, or have the egress policy allow it")
	if counts := u.status.Addresses; counts != nil {
		counts.Published = s.ReadyCount
	}
}

// hasReadyReason reports whether Ready has a reason.
func (u *statusUpdate) hasReadyReason(reason string) bool {
	ready := meta.FindStatusCondition(u.status.Conditions, networkingv1.ConditionReady)
	return ready != nil && ready.Reason == reason
}
