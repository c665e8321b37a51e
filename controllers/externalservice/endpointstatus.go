// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// maxStatusAddresses is how many addresses of an endpoint the status lists; the API has the same
// limit.
const maxStatusAddresses = 100

// endpointStatuses say what is known of each endpoint. What did not change stays as before says it,
// so that nothing is written for a check that merely ended in another way.
func endpointStatuses(before *networkingv1.ExternalServiceStatus, all []resolvedEndpoint, checked bool) []networkingv1.EndpointStatus {
	out := make([]networkingv1.EndpointStatus, len(all))
	for i := range all {
		s := &all[i]
		was := statusOf(before, s.Name)
		is := &out[i]
		is.Name = s.Name
		if s.state != nil {
			is.DNSName, is.Reason = s.DNS.Name, s.reason()
			is.ResolvedTime, is.NextResolveTime = statusTime(s.state.ResolvedTime), statusTime(s.state.NextTime)
		}
		if len(s.addresses) == 0 {
			continue
		}
		is.Addresses = make([]networkingv1.AddressStatus, min(len(s.addresses), maxStatusAddresses))
		for j := range is.Addresses {
			is.Addresses[j] = addressStatus(was, s, j, checked)
		}
	}
	return out
}

func addressStatus(was *networkingv1.EndpointStatus, s *resolvedEndpoint, i int, checked bool) networkingv1.AddressStatus {
	a := &s.addresses[i]
	is := networkingv1.AddressStatus{IP: a.ip.String(), Port: int32(a.srvPort)}
	switch {
	case a.deniedReason != "":
		is.Reason = networkingv1.ProbeDenied
		return is
	case !checked || s.drained:
		return is
	}
	is.Health, is.Reason = a.health.State, a.health.Reason
	is.Since, is.LastProbeTime = statusTime(a.health.Since), statusTime(a.health.LastProbe)
	before := sameAddress(was, &is, i)
	if before == nil || before.Health != is.Health {
		return is
	}
	// How the last check ended is told with a change only: an address that fails, fails now by a
	// timeout and now by a refusal.
	if before.Since != nil && (is.Health == networkingv1.AddressUnknown || before.Since.Equal(is.Since)) {
		is.Since, is.Reason = before.Since, before.Reason
	}
	return is
}

// sameAddress finds an address in the status, which most often stands where it stood.
func sameAddress(was *networkingv1.EndpointStatus, is *networkingv1.AddressStatus, i int) *networkingv1.AddressStatus {
	if was == nil {
		return nil
	}
	if i < len(was.Addresses) && was.Addresses[i].IP == is.IP && was.Addresses[i].Port == is.Port {
		return &was.Addresses[i]
	}
	for j := range was.Addresses {
		if was.Addresses[j].IP == is.IP && was.Addresses[j].Port == is.Port {
			return &was.Addresses[j]
		}
	}
	return nil
}

// reason is how the last lookup ended, and Denied where nothing of it may be published.
func (s *resolvedEndpoint) reason() string {
	if s.state == nil {
		return ""
	}
	if len(s.addresses) > 0 {
		for i := range s.addresses {
			if s.addresses[i].deniedReason == "" {
				return s.state.Reason
			}
		}
		return networkingv1.ReasonDenied
	}
	return s.state.Reason
}

// statusTime is a time as the API server stores it: in whole seconds, or not at all.
func statusTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}
