// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// maxNamed is how many things of a kind one message names.
const maxNamed = 3

// Parts of messages that an event tells of as well.
const (
	foreignFieldsSet = "others have set fields of the Service that stay as they are"
	addressesLeftOut = "there are more addresses than are published of a name"
	targetsLeftOut   = "left out since it points into the cluster"
)

// setReady tells whether the Service and its slices are as the spec wants them. That everything outside
// is down does not make it false.
func (r *statusUpdate) setReady(f *observation, d *decision, service *corev1.Service, sliceCount int) {
	var refused []string
	for i := range f.endpoints {
		for j := range f.endpoints[i].addresses {
			if a := &f.endpoints[i].addresses[j]; a.deniedReason != "" && f.endpoints[i].DNS == nil {
				refused = append(refused, fmt.Sprintf("endpoint %q: %s %s (%s)", f.endpoints[i].Name, a.ip, a.deniedDetail, a.deniedReason))
			}
		}
	}
	if len(refused) > 0 {
		r.setStalled(networkingv1.ReasonPolicyDenied, some(refused)+": left out; take it out of the spec, or have the egress policy allow it")
		return
	}
	r.removeCondition(networkingv1.ConditionStalled)
	switch {
	case len(d.published) == 0:
		r.setCondition(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses,
			"no endpoint that is Active has addresses: the Service has no endpoints")
	default:
		where := fmt.Sprintf("in %s behind Service %s", plural(sliceCount, "EndpointSlice", "EndpointSlices"), service.Name)
		message := plural(len(d.published), "address", "addresses") + " " + where
		if ready := d.readyCount(); ready < len(d.published) {
			message += fmt.Sprintf(", %d of them ready", ready)
		}
		if fields := foreignFields(service); len(fields) > 0 {
			message += "; " + foreignFieldsSet + ": " + strings.Join(fields, ", ")
		}
		r.setCondition(networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished, message)
	}
}

// setResolved tells whether every name resolves. Drained endpoints do not count.
func (r *statusUpdate) setResolved(f *observation) {
	var worst string
	var broken, left []string
	names := 0
	for i := range f.endpoints {
		s := &f.endpoints[i]
		if s.state == nil || s.drained {
			continue
		}
		names++
		reason := s.reason()
		if reason == networkingv1.ReasonResolved {
			if text := s.leftOutMessage(); text != "" {
				left = append(left, text)
			}
			continue
		}
		if reasonRank(reason) > reasonRank(worst) {
			worst = reason
		}
		broken = append(broken, s.resolveMessage(reason))
	}
	switch {
	case names == 0:
		r.removeCondition(networkingv1.ConditionResolved)
	case len(broken) == 0:
		r.setCondition(networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonResolved, some(append([]string{plural(names, "name resolves", "names resolve")}, left...)))
	case worst == "":
		r.setCondition(networkingv1.ConditionResolved, metav1.ConditionUnknown, networkingv1.ReasonUnknown, some(broken))
	default:
		r.setCondition(networkingv1.ConditionResolved, metav1.ConditionFalse, worst, some(broken))
	}
}

// reasonRank orders reasons: of several endpoints the worst one gives the condition its reason.
func reasonRank(reason string) int {
	return 1 + slices.Index([]string{
		"", networkingv1.ReasonStale, networkingv1.ReasonTimeout, networkingv1.ReasonServFail, networkingv1.ReasonNXDomain, networkingv1.ReasonDenied,
	}, reason)
}

// leftOutMessage says what of the answer is not published although the name resolves; "" where nothing is.
func (s *resolvedEndpoint) leftOutMessage() string {
	var all []string
	if n := s.state.Surplus; n > 0 {
		all = append(all, fmt.Sprintf("%s: %d of at least %d are published", addressesLeftOut, len(s.addresses), len(s.addresses)+n))
	}
	denied := 0
	for i := range s.addresses {
		if s.addresses[i].deniedReason != "" {
			denied++
		}
	}
	if denied > 0 {
		all = append(all, fmt.Sprintf("the egress policy refuses %d of %s", denied, plural(len(s.addresses), "address", "addresses")))
	}
	if n := s.state.Denied; n > 0 {
		all = append(all, fmt.Sprintf("%s, each %s", plural(n, "SRV target is refused", "SRV targets are refused"), targetsLeftOut))
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("endpoint %q: %s: %s", s.Name, s.DNS.Name, strings.Join(all, ", "))
}

// resolveMessage says what is the matter with a name, in words of ours.
func (s *resolvedEndpoint) resolveMessage(reason string) string {
	name := fmt.Sprintf("endpoint %q: %s ", s.Name, s.DNS.Name)
	switch reason {
	case "":
		return name + "was not looked up yet"
	case networkingv1.ReasonStale:
		kept := plural(s.state.Kept, "last address is", "last addresses are")
		if s.state.Failed != "" {
			return name + fmt.Sprintf("resolves, except for its %s records (%s), of which %s kept", s.state.Failed, s.state.Cause, kept)
		}
		return name + fmt.Sprintf("does not resolve (%s), %s kept", s.state.Cause, kept)
	case networkingv1.ReasonDenied:
		if len(s.addresses) > 0 && s.state.Cause != string(dns.Denied) {
			return name + "leads only to addresses that the egress policy refuses"
		}
		return name + "points into the cluster"
	case networkingv1.ReasonNXDomain:
		return name + "does not exist, or has no record of the type"
	case networkingv1.ReasonServFail:
		return name + "does not resolve: the DNS server failed"
	case networkingv1.ReasonTimeout:
		return name + "does not resolve: no DNS server answered in time"
	}
	return name + "does not resolve"
}

// setHealthy tells whether every address of the active priority is healthy.
func (r *statusUpdate) setHealthy(es *networkingv1.ExternalService, f *observation, d *decision) {
	if es.Spec.HealthCheck == nil {
		r.removeCondition(networkingv1.ConditionHealthy)
		return
	}
	healthy, unknown := 0, 0
	for _, p := range d.published {
		switch p.health {
		case networkingv1.AddressHealthy:
			healthy++
		case networkingv1.AddressUnhealthy:
		default:
			unknown++
		}
	}
	all := len(d.published)
	status, reason, message := metav1.ConditionFalse, networkingv1.ReasonDegraded, ""
	if all > 0 {
		message = fmt.Sprintf("%d of %s of priority %d healthy", healthy, plural(all, "address", "addresses"), *d.active)
	}
	switch {
	case f.uncheckedReason != "":
		status, reason, message = metav1.ConditionUnknown, networkingv1.ReasonCAUnavailable, f.uncheckedReason
	case f.suspect:
		status, reason = metav1.ConditionUnknown, networkingv1.ReasonProbeSelfSuspect
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
		if d.panicking {
			message += ", nor any elsewhere: all are published as ready (panicThresholdPercent)"
		}
	case unknown > 0:
		message += fmt.Sprintf(", %d not checked yet", unknown)
	}
	flaps := 0
	forEachActive(f.endpoints, func(_ *resolvedEndpoint, a *address) {
		if a.flapping {
			flaps++
		}
	})
	if flaps > 0 {
		message += fmt.Sprintf("; the health of %s, and is held", plural(flaps, "address changes too often", "addresses changes too often"))
	}
	r.setCondition(networkingv1.ConditionHealthy, status, reason, message)
}

// setFailedOver tells that a priority other than the lowest is published.
func (r *statusUpdate) setFailedOver(f *observation, d *decision) {
	switch {
	case d.active == nil || *d.active <= lowest(f.endpoints):
		r.removeCondition(networkingv1.ConditionFailedOver)
	case f.suspect && meta.IsStatusConditionTrue(r.status.Conditions, networkingv1.ConditionFailedOver):
		// It stays as it was, like the health that it speaks of.
	case r.status.Fault.Lasts():
		r.setCondition(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFaultInjected,
			fmt.Sprintf("priority %d is published because of the fault that is injected", *d.active))
	case d.pendingFailback != nil && d.awaitsRequest:
		r.setCondition(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackPending,
			fmt.Sprintf("priority %d is published although priority %d is healthy again: failback is Manual; set the annotation %s to go back",
				*d.active, *d.pendingFailback, networkingv1.FailbackRequestedAnnotation))
	case d.pendingFailback != nil:
		r.setCondition(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackPending,
			fmt.Sprintf("priority %d is published; priority %d is healthy again and is taken once failbackDelay has passed", *d.active, *d.pendingFailback))
	default:
		r.setCondition(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy,
			fmt.Sprintf("failed over to priority %d: none before it has enough healthy addresses", *d.active))
	}
}

// some names the first of a list, and how many more there are.
func some(list []string) string {
	if len(list) <= maxNamed {
		return strings.Join(list, "; ")
	}
	return strings.Join(list[:maxNamed], "; ") + fmt.Sprintf("; and %d more", len(list)-maxNamed)
}
