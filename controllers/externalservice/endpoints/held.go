// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// Held is an address that slices or the status have, with the decision of the egress policy about it now.
type Held struct {
	IP      netip.Addr
	Ports   *PortSet
	Zone    string
	IsReady bool
	Verdict egress.Verdict
}

// Key returns what identifies the address in slices.
func (h *Held) Key() Key { return Key{h.IP, h.Ports.Digest} }

// HeldIn returns the addresses of slices. An approval is of the addresses that the spec has; without grace, the policy
// decides about each as about a new one.
func HeldIn(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, policy Policy, grace bool) []Held {
	var all []Held
	approved := approvedAddresses(es)
	for _, slice := range current {
		ports := PortsOf(slice)
		for key, e := range In(slice) {
			h := Held{IP: key.IP, Ports: ports, Zone: ptr.Deref(e.Zone, ""), IsReady: IsReady(e)}
			if h.IP.IsValid() {
				query := egress.Query{Namespace: es.Namespace, IP: h.IP, Authorized: approved[h.IP], Held: grace}
				h.Verdict = policy.CheckPorts(query, ports.Numbers)
			}
			all = append(all, h)
		}
	}
	return all
}

// RecordedIn returns the addresses of the spec and the status.
func RecordedIn(es *networkingv1.ExternalService, policy Policy) []Held {
	var all []Held
	approved := approvedAddresses(es)
	add := func(ip netip.Addr, ports []uint16) {
		query := egress.Query{Namespace: es.Namespace, IP: ip, Authorized: approved[ip], Held: true}
		all = append(all, Held{IP: ip, Verdict: policy.CheckPorts(query, ports)})
	}
	for _, s := range egress.StaticAddresses(&es.Spec) {
		if s.IP.IsValid() {
			add(s.IP, s.Ports)
		}
	}
	for i := range es.Status.Endpoints {
		for _, a := range es.Status.Endpoints[i].Addresses {
			if ip, err := netip.ParseAddr(a.IP); err == nil {
				add(ip, PortSetOf(&es.Spec, nil, uint16(a.Port)).Numbers)
			}
		}
	}
	return all
}

// DeniedNow returns whether the policy denies an address that it allowed before, with these ports.
func DeniedNow(es *networkingv1.ExternalService, policy Policy) func(ip netip.Addr, ports []uint16) bool {
	approved := approvedAddresses(es)
	return func(ip netip.Addr, ports []uint16) bool {
		verdict := policy.CheckPorts(egress.Query{Namespace: es.Namespace, IP: ip, Authorized: approved[ip], Held: true}, ports)
		return !verdict.Allowed && verdict.Reason != egress.ReasonUnsynced
	}
}

// approvedAddresses returns the static addresses, where their author has the right to publish addresses of the cluster.
func approvedAddresses(es *networkingv1.ExternalService) map[netip.Addr]bool {
	if !egress.Approved(es) {
		return nil
	}
	all := map[netip.Addr]bool{}
	for _, s := range egress.StaticAddresses(&es.Spec) {
		all[s.IP] = true
	}
	return all
}
