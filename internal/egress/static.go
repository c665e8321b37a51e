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

// Static is an address that a spec lists, rather than one that a DNS name resolves to.
type Static struct {
	// Endpoint is the index in spec.endpoints, and Address the index in the addresses of that endpoint.
	Endpoint, Address int
	// IP is the zero Addr if the text is not an address, which validation refuses.
	IP netip.Addr
	// Ports that it is published with or checked at, sorted and unique.
	Ports []uint16
}

// StaticAddresses returns the addresses that a spec lists, including those of drained endpoints: admission checks them when they are
// written, and not when the endpoint becomes Active again.
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

// portsOf returns the ports to connect to at an endpoint, sorted and unique.
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

// CheckPorts checks an address with all of its ports, and returns the verdict on the first port that is denied. One denied port denies
// the address, since an EndpointSlice has every port for every address. Without ports, it checks the address alone.
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
