// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"

	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// Static is an address of a spec.
type Static struct {
	// Endpoint and Address are the indexes in spec.endpoints and its addresses.
	Endpoint, Address int
	// IP is not valid if the text is no address; validation refuses that.
	IP netip.Addr
	// Ports that it is published with or checked at, sorted and unique.
	Ports []uint16
}

// StaticAddresses returns the addresses of a spec, also of drained endpoints: a user who makes one Active again does
// not choose its addresses.
func StaticAddresses(spec *networkingv1.ExternalServiceSpec) []Static {
	var out []Static
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if len(e.Addresses) == 0 {
			continue
		}
		ports := portsOf(spec, e)
		for j, text := range e.Addresses {
			ip, err := netip.ParseAddr(string(text))
			if err != nil {
				ip = netip.Addr{}
			}
			out = append(out, Static{Endpoint: i, Address: j, IP: ip, Ports: ports})
		}
	}
	return out
}

// portsOf returns the ports of an endpoint, sorted and unique.
func portsOf(spec *networkingv1.ExternalServiceSpec, e *networkingv1.Endpoint) []uint16 {
	ports := make([]uint16, 0, len(spec.Ports))
	for _, p := range spec.Ports {
		number := ptr.Deref(p.TargetPort, p.Port)
		for _, own := range e.Ports {
			if own.Name == p.Name {
				number = own.Port
			}
		}
		ports = append(ports, uint16(number))
	}
	if checked := rules.UnpublishedPort(spec); checked > 0 {
		ports = append(ports, checked)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// CheckPorts checks an address with all of its ports: the first one that is denied decides, since an EndpointSlice has
// every port for every address. Without ports it checks the address as such.
func (p *Policy) CheckPorts(q Query, ports []uint16) Verdict {
	if len(ports) == 0 {
		q.Port = 0
		return p.Check(q)
	}
	var verdict Verdict
	for _, q.Port = range ports {
		if verdict = p.Check(q); !verdict.Allowed {
			return verdict
		}
	}
	return verdict
}
