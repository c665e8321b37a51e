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

// ready tells whether the Service and its slices are as the spec wants them. That everything outside
// is down does not make it false.
func (r *report) ready(f *findings, d *decision, service *corev1.Service, sliceCount int) {
	var refused []string
	for i := range f.sites {
		for j := range f.sites[i].addresses {
			if a := &f.sites[i].addresses[j]; a.denied != "" && f.sites[i].DNS == nil {
				refused = append(refused, fmt.Sprintf("endpoint %q: %s %s (%s)", f.sites[i].Name, a.ip, a.why, a.denied))
			}
		}
	}
	switch {
	case len(refused) > 0:
		r.set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonPolicyDenied,
			some(refused)+": left out; take it out of the spec, or have the egress policy allow it")
	case len(d.publish) == 0:
		r.set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses,
			"no endpoint that is Active has addresses: the Service has nothing behind it")
	default:
		where := fmt.Sprintf("in %s behind Service %s", plural(sliceCount, "EndpointSlice", "EndpointSlices"), service.Name)
		message := plural(len(d.publish), "address", "addresses") + " " + where
		if ready := d.ready(); ready < len(d.publish) {
			message += fmt.Sprintf(", %d of them ready", ready)
		}
		r.set(networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished, message)
	}
}

// resolved tells whether every name resolves. Drained endpoints do not count.
func (r *report) resolved(f *findings) {
	var worst string
	var broken []string
	names := 0
	for i := range f.sites {
		s := &f.sites[i]
		if s.state == nil || s.drained {
			continue
		}
		names++
		reason := s.reason()
		if reason == networkingv1.ReasonResolved {
			continue
		}
		if gravity(reason) > gravity(worst) {
			worst = reason
		}
		broken = append(broken, s.trouble(reason))
	}
	switch {
	case names == 0:
		r.clear(networkingv1.ConditionResolved)
	case len(broken) == 0:
		r.set(networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonResolved, plural(names, "name resolves", "names resolve"))
	case worst == "":
		r.set(networkingv1.ConditionResolved, metav1.ConditionUnknown, networkingv1.ReasonUnknown, some(broken))
	default:
		r.set(networkingv1.ConditionResolved, metav1.ConditionFalse, worst, some(broken))
	}
}

// gravity orders reasons: of several endpoints the worst one gives the condition its reason.
func gravity(reason string) int {
	return 1 + slices.Index([]string{
		"", networkingv1.ReasonStale, networkingv1.ReasonTimeout, networkingv1.ReasonServFail, networkingv1.ReasonNXDomain, networkingv1.ReasonDenied,
	}, reason)
}

// trouble says what is the matter with a name, in words of ours.
func (s *site) trouble(reason string) string {
	name := fmt.Sprintf("endpoint %q: %s ", s.Name, s.DNS.Name)
	switch reason {
	case "":
		return name + "was not looked up yet"
	case networkingv1.ReasonStale:
		return name + fmt.Sprintf("does not resolve (%s), %s kept", s.state.Cause, plural(len(s.addresses), "last address is", "last addresses are"))
	case networkingv1.ReasonDenied:
		if len(s.addresses) > 0 && s.state.Cause != string(dns.Denied) {
			return name + "leads only to addresses that the egress policy refuses"
		}
		return name + "leads into the cluster"
	case networkingv1.ReasonNXDomain:
		return name + "does not exist, or has no record of the type"
	case networkingv1.ReasonServFail:
		return name + "does not resolve: the DNS server failed"
	case networkingv1.ReasonTimeout:
		return name + "does not resolve: no DNS server answered in time"
	}
	return name + "does not resolve"
}

// healthy tells whether every address of the active priority is healthy.
func (r *report) healthy(es *networkingv1.ExternalService, f *findings, d *decision) {
	if es.Spec.HealthCheck == nil {
		r.clear(networkingv1.ConditionHealthy)
		return
	}
	healthy, unknown := 0, 0
	for _, p := range d.publish {
		switch p.health {
		case networkingv1.AddressHealthy:
			healthy++
		case networkingv1.AddressUnhealthy:
		default:
			unknown++
		}
	}
	all := len(d.publish)
	status, reason, message := metav1.ConditionFalse, networkingv1.ReasonDegraded, ""
	if all > 0 {
		message = fmt.Sprintf("%d of %s of priority %d healthy", healthy, plural(all, "address", "addresses"), *d.active)
	}
	switch {
	case f.fault != "":
		status, reason, message = metav1.ConditionUnknown, networkingv1.ReasonCAUnavailable, f.fault
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
		if d.panics {
			message += ", nor any elsewhere: all are published as ready (panicThresholdPercent)"
		}
	case unknown > 0:
		message += fmt.Sprintf(", %d not checked yet", unknown)
	}
	r.set(networkingv1.ConditionHealthy, status, reason, message)
}

// failedOver tells that a priority other than the lowest is published.
func (r *report) failedOver(f *findings, d *decision) {
	switch {
	case d.active == nil || *d.active <= lowest(f.sites):
		r.clear(networkingv1.ConditionFailedOver)
	case f.suspect && meta.IsStatusConditionTrue(r.status.Conditions, networkingv1.ConditionFailedOver):
		// It stays as it was, like the health that it speaks of.
	case d.pending != nil && d.asks:
		r.set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackPending,
			fmt.Sprintf("priority %d is published although priority %d is healthy again: failback is Manual; set the annotation %s to go back",
				*d.active, *d.pending, networkingv1.FailbackRequestedAnnotation))
	case d.pending != nil:
		r.set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackPending,
			fmt.Sprintf("priority %d is published; priority %d is healthy again and is taken once failbackDelay has passed", *d.active, *d.pending))
	default:
		r.set(networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonPriorityUnhealthy,
			fmt.Sprintf("priority %d is published: no lower one has enough healthy addresses", *d.active))
	}
}

// some names the first of a list, and how many more there are.
func some(list []string) string {
	if len(list) <= maxNamed {
		return strings.Join(list, "; ")
	}
	return strings.Join(list[:maxNamed], "; ") + fmt.Sprintf("; and %d more", len(list)-maxNamed)
}
