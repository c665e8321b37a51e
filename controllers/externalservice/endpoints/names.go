// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// Names returns the DNS names to look up, with the verdict of the policy about their addresses. families are those of the
// Service, as in DropUnreachable. Names of drained endpoints are among them, so that making one Active again waits for no
// lookup. seeds, which may be nil, has the addresses that each endpoint begins with.
func Names(es *networkingv1.ExternalService, seeds map[string]Seed, policy Policy, families []corev1.IPFamily) []resolution.Name {
	var out []resolution.Name
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		if e.DNS == nil {
			continue
		}
		r, seed := es.Spec.Resolution, seeds[e.Name]
		out = append(out, resolution.Name{
			Host: e.DNS.Name, Records: *e.DNS.RecordType,
			MinTTL: r.MinTTL.Or(0), MaxTTL: r.MaxTTL.Or(0), KeepLastFor: r.KeepLastFor.Or(0), OnFailure: *r.OnFailure,
			Seed: seed.addresses, SeedTime: seed.resolved, Verdict: verdictOf(es, e, policy, families),
		})
	}
	return out
}

// verdictOf returns what decides about the addresses of a name. It keeps no more of the object than it needs.
func verdictOf(
	es *networkingv1.ExternalService, e *networkingv1.Endpoint, policy Policy, families []corev1.IPFamily,
) func(dns.Address, bool) resolution.Verdict {
	namespace, spec := es.Namespace, &networkingv1.ExternalServiceSpec{Ports: es.Spec.Ports, HealthCheck: es.Spec.HealthCheck}
	ports := PortSetOf(spec, e.Ports, 0).Numbers
	return func(a dns.Address, isHeld bool) resolution.Verdict {
		numbers := ports
		if a.Port > 0 {
			numbers = PortSetOf(spec, nil, a.Port).Numbers
		}
		verdict := policy.CheckPorts(egress.Query{Namespace: namespace, IP: a.IP, Held: isHeld}, numbers)
		switch {
		case !verdict.Allowed && (!isHeld || !verdict.Reason.IsUnknown()):
			return resolution.Denied
		case !isReachable(a.IP, families):
			return resolution.Unreachable
		}
		return resolution.Usable
	}
}

// Seed is the addresses that a name begins with, and when it last resolved; zero means never.
type Seed struct {
	addresses []dns.Address
	resolved  time.Time
}

// Seeds returns the seeds of the names that a spec has, by endpoint.
//
// A name of the status begins with its addresses there, whichever endpoint had it. One that is new takes over what
// it replaces until it resolves: the addresses that its endpoint had, and those that are ready in the slices and that
// the spec does not have any more. Otherwise a name that does not resolve would take addresses away. Where no name is
// new, and no address would be left, one that has never resolved takes over the latter: whether an edit came before or
// after the status of the one before makes no difference. Slices are written first: what they have more than the status of
// the same spec is a name's.
func Seeds(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, now time.Time) map[string]Seed {
	seeds := map[string]Seed{}
	claimed := staticAddresses(&es.Spec)
	var names, replacing, unresolved []*networkingv1.Endpoint
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		if e.DNS == nil {
			continue
		}
		names = append(names, e)
		status := statusOfName(&es.Status, e.DNS)
		if status == nil {
			replacing = append(replacing, e)
			continue
		}
		seed := Seed{resolved: resolvedTime(status, now)}
		if seed.resolved.IsZero() {
			unresolved = append(unresolved, e)
		}
		for _, a := range status.Addresses {
			seed.add(a.IP, uint16(a.Port), claimed)
		}
		seeds[e.Name] = seed
	}
	ready := readyPorts(current)
	for _, e := range replacing {
		seeds[e.Name] = replacedBy(e, StatusOf(&es.Status, e.Name), ready, claimed)
	}
	if len(replacing) == 0 && !haveAddresses(es, seeds) {
		replacing = unresolved
	}
	isObserved := es.Status.ObservedGeneration == es.Generation
	if len(replacing) == 0 && isObserved { // a process has ended between its write of the slices and that of the status
		replacing = names
		claimRecorded(&es.Status, claimed)
	}
	if heir := heirOf(replacing, es.Status.ActivePriority); heir != nil {
		seed := seeds[heir.Name]
		for ip, ports := range ready {
			seed.addAll(ip, heir.DNS, ports, claimed)
		}
		if len(es.Status.Endpoints) == 0 && len(seed.addresses) > 0 { // the status was lost, and nothing says that the name is new
			seed.resolved = now
		}
		seeds[heir.Name] = seed
	}
	return seeds
}

// claimRecorded claims all addresses of the status.
func claimRecorded(status *networkingv1.ExternalServiceStatus, claimed map[string]bool) {
	for i := range status.Endpoints {
		for _, a := range status.Endpoints[i].Addresses {
			claimed[a.IP] = true
		}
	}
}

// replacedBy returns the addresses that the endpoint of a new name had before, as far as they took traffic.
func replacedBy(
	e *networkingv1.Endpoint, before *networkingv1.EndpointStatus, ready map[string][]uint16, claimed map[string]bool,
) (seed Seed) {
	if before == nil {
		return Seed{}
	}
	for _, a := range before.Addresses {
		if ports := ready[a.IP]; a.Health != "" || len(ports) > 0 {
			seed.addAll(a.IP, e.DNS, append(ports, uint16(a.Port)), claimed)
		}
	}
	return seed
}

// haveAddresses reports whether any Active endpoint has an address, of its own or by its seed.
func haveAddresses(es *networkingv1.ExternalService, seeds map[string]Seed) bool {
	return slices.ContainsFunc(es.Spec.Endpoints, func(e networkingv1.Endpoint) bool {
		return *e.State != networkingv1.EndpointDrained && (len(e.Addresses) > 0 || len(seeds[e.Name].addresses) > 0)
	})
}

// heirOf returns the endpoint that takes over what no other does: an Active one, of the active priority where there
// is one.
func heirOf(all []*networkingv1.Endpoint, active *int32) *networkingv1.Endpoint {
	var heir *networkingv1.Endpoint
	for _, e := range all {
		if *e.State == networkingv1.EndpointDrained {
			continue
		}
		if heir == nil || ptr.Equal(e.Priority, active) && !ptr.Equal(heir.Priority, active) {
			heir = e
		}
	}
	return heir
}

// add adds an address, and claims it.
func (s *Seed) add(ip string, port uint16, claimed map[string]bool) {
	if parsed, err := netip.ParseAddr(ip); err == nil {
		s.addresses = append(s.addresses, dns.Address{IP: parsed, Port: port})
		claimed[ip] = true
	}
}

// addAll adds an address as a name has it, unless it is claimed: with each of the ports that are known for SRV
// records, and else without.
func (s *Seed) addAll(ip string, name *networkingv1.DNSName, ports []uint16, claimed map[string]bool) {
	switch {
	case claimed[ip]:
	case *name.RecordType != networkingv1.RecordSRV:
		s.add(ip, 0, claimed)
	default:
		for _, port := range ports {
			if port > 0 {
				s.add(ip, port, claimed)
			}
		}
	}
}

// staticAddresses returns the addresses that the spec has itself.
func staticAddresses(spec *networkingv1.ExternalServiceSpec) map[string]bool {
	all := map[string]bool{}
	for _, s := range egress.StaticAddresses(spec) {
		all[s.IP.String()] = true
	}
	return all
}

// readyPorts returns the addresses that are ready in slices, each with the first port of each slice.
func readyPorts(current []*discoveryv1.EndpointSlice) map[string][]uint16 {
	ready := map[string][]uint16{}
	for _, slice := range current {
		port := int32(0)
		if len(slice.Ports) > 0 {
			port = ptr.Deref(slice.Ports[0].Port, 0)
		}
		for i := range slice.Endpoints {
			if e := &slice.Endpoints[i]; ptr.Deref(e.Conditions.Ready, true) {
				ready[e.Addresses[0]] = append(ready[e.Addresses[0]], uint16(port))
			}
		}
	}
	return ready
}

// StatusOf returns the status of an endpoint by its name, or nil.
func StatusOf(status *networkingv1.ExternalServiceStatus, endpoint string) *networkingv1.EndpointStatus {
	for i := range status.Endpoints {
		if status.Endpoints[i].Name == endpoint {
			return &status.Endpoints[i]
		}
	}
	return nil
}

// statusOfName returns the status of a DNS name, or nil. SRV records have ports.
func statusOfName(status *networkingv1.ExternalServiceStatus, name *networkingv1.DNSName) *networkingv1.EndpointStatus {
	services := *name.RecordType == networkingv1.RecordSRV
	for i := range status.Endpoints {
		e := &status.Endpoints[i]
		if e.DNSName == "" || !strings.EqualFold(strings.TrimSuffix(e.DNSName, "."), strings.TrimSuffix(name.Name, ".")) {
			continue
		}
		if len(e.Addresses) == 0 || (e.Addresses[0].Port > 0) == services {
			return e
		}
	}
	return nil
}

// resolvedTime returns when a name of the status last resolved, as far as is known: until now where it had not
// failed, since its time is written with other changes only. It is zero where it never did.
func resolvedTime(status *networkingv1.EndpointStatus, now time.Time) time.Time {
	switch {
	case status.ResolvedTime == nil:
		return time.Time{}
	case status.Reason == networkingv1.ReasonResolved || status.ResolvedTime.After(now):
		return now
	}
	return status.ResolvedTime.Time
}
