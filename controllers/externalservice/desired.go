// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// maxSliceEndpoints is how many addresses one EndpointSlice holds at most, as the API server's own
// EndpointSlice controller has it by default.
const maxSliceEndpoints = 100

// address is one address to publish.
type address struct {
	ip    netip.Addr
	zone  string
	ports []discoveryv1.EndpointPort
}

// slice is one EndpointSlice as it should be.
type slice struct {
	name      string
	family    discoveryv1.AddressType
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
}

// selection is what of an ExternalService gets published.
type selection struct {
	priority  *int32 // nil where nothing is
	addresses []address
	total     int32 // addresses of all endpoints, published or not
}

// choose takes the active addresses of the lowest priority that has any. An address that several
// endpoints share is taken once, from the first.
func choose(spec *networkingv1.ExternalServiceSpec) selection {
	var chosen selection
	seen := map[string]bool{}
	for _, e := range spec.Endpoints {
		chosen.total += int32(len(e.Addresses))
		priority := ptr.Deref(e.Priority, 0)
		if len(e.Addresses) == 0 || ptr.Deref(e.State, networkingv1.EndpointActive) != networkingv1.EndpointActive {
			continue
		}
		if chosen.priority != nil && priority > *chosen.priority {
			continue
		}
		if chosen.priority == nil || priority < *chosen.priority {
			chosen.priority, chosen.addresses, seen = &priority, nil, map[string]bool{}
		}
		ports := endpointPorts(spec.Ports, e.Ports)
		for _, text := range e.Addresses {
			ip, err := netip.ParseAddr(string(text))
			key := string(text) + portsKey(ports)
			if err != nil || seen[key] {
				continue // the rules have refused what does not parse
			}
			seen[key] = true
			chosen.addresses = append(chosen.addresses, address{ip: ip, zone: e.Zone, ports: ports})
		}
	}
	return chosen
}

// endpointPorts are the ports outside: the Service's target ports, but for those that the endpoint
// has of its own.
func endpointPorts(ports []networkingv1.ServicePort, own []networkingv1.EndpointPort) []discoveryv1.EndpointPort {
	out := make([]discoveryv1.EndpointPort, 0, len(ports))
	for _, p := range ports {
		number := ptr.Deref(p.TargetPort, p.Port)
		for _, o := range own {
			if o.Name == p.Name {
				number = o.Port
			}
		}
		out = append(out, discoveryv1.EndpointPort{
			Name:        ptr.To(p.Name),
			Port:        ptr.To(number),
			Protocol:    ptr.To(ptr.Deref(p.Protocol, corev1.ProtocolTCP)),
			AppProtocol: optional(p.AppProtocol),
		})
	}
	return out
}

// slicesOf groups addresses by family and ports, since an EndpointSlice has one of each, and cuts
// every group into slices of at most 100. The same addresses give the same slices in any order.
func slicesOf(name string, addresses []address) []slice {
	groups := map[string][]address{}
	for _, a := range addresses {
		family := "ipv4"
		if a.ip.Is6() {
			family = "ipv6"
		}
		key := family + "-" + portsKey(a.ports)
		groups[key] = append(groups[key], a)
	}
	var out []slice
	for key, group := range groups {
		slices.SortFunc(group, func(a, b address) int {
			return cmp.Or(a.ip.Compare(b.ip), strings.Compare(a.zone, b.zone))
		})
		family := discoveryv1.AddressTypeIPv4
		if group[0].ip.Is6() {
			family = discoveryv1.AddressTypeIPv6
		}
		for i, part := range slices.Collect(slices.Chunk(group, maxSliceEndpoints)) {
			s := slice{name: fmt.Sprintf("%s-%s-%d", name, key, i), family: family, ports: group[0].ports}
			for _, a := range part {
				s.endpoints = append(s.endpoints, endpoint(a))
			}
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b slice) int { return strings.Compare(a.name, b.name) })
	return out
}

// endpoint always states its conditions: to kube-proxy a ready that is not set means ready.
func endpoint(a address) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{a.ip.String()},
		Zone:       optional(a.zone),
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
	}
}

// portsKey is a short name for a set of ports, the same in every process.
func portsKey(ports []discoveryv1.EndpointPort) string {
	hash := fnv.New32a()
	for _, p := range ports {
		fmt.Fprintf(hash, "%s/%d/%s/%s;", *p.Name, *p.Port, *p.Protocol, ptr.Deref(p.AppProtocol, ""))
	}
	return fmt.Sprintf("%08x", hash.Sum32())
}

// optional is nil for an empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
