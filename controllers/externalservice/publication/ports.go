// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
)

// A client reaches a port of a Service by number and protocol, and kube-proxy finds the endpoints of it by its name and
// protocol. So a port is renamed in an order: slices with the new names, the Service, and then the slices with the old ones
// go. Where a name would lead to the endpoints of another port meanwhile, the Service has a name of no spec in between.

// frontend identifies a port of a Service for clients, and portKey identifies it in EndpointSlices.
type (
	frontend struct {
		number   int32
		protocol corev1.Protocol
	}
	portKey struct {
		name     string
		protocol corev1.Protocol
	}
)

func frontendOf(p *corev1.ServicePort) frontend { return frontend{p.Port, p.Protocol} }
func keyOf(p *corev1.ServicePort) portKey       { return portKey{p.Name, p.Protocol} }

func keyOfEndpoint(p *discoveryv1.EndpointPort) portKey {
	return portKey{ptr.Deref(p.Name, ""), ptr.Deref(p.Protocol, corev1.ProtocolTCP)}
}

// Ports returns the ports that the Service of an object is to have.
func Ports(es *networkingv1.ExternalService) []corev1.ServicePort {
	out := make([]corev1.ServicePort, len(es.Spec.Ports))
	for i := range out {
		p := &es.Spec.Ports[i]
		out[i] = corev1.ServicePort{
			Name: p.Name, Port: p.Port, Protocol: *p.Protocol, TargetPort: intstr.FromInt32(ptr.Deref(p.TargetPort, p.Port)),
		}
		if ptr.Deref(p.AppProtocol, "") != "" {
			out[i].AppProtocol = p.AppProtocol
		}
	}
	return out
}

// AreSame reports whether ports are the same to proxies.
func AreSame(a, b []corev1.ServicePort) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.ServicePort) bool {
		return frontendOf(&a) == frontendOf(&b) && a.Name == b.Name
	})
}

// NextPorts returns the ports that a Service gets next: those that are wanted, except that a port gets a name of its own
// where slices still have other endpoints under the one that is wanted for it.
func NextPorts(
	service *corev1.Service, wanted []corev1.ServicePort, current []*discoveryv1.EndpointSlice, publish []failover.Published,
) []corev1.ServicePort {
	if service.Spec.ClusterIP == corev1.ClusterIPNone { // its clients use the numbers of the endpoints
		return wanted
	}
	has, gets := map[portKey]map[int32]bool{}, map[portKey]map[int32]bool{}
	for _, slice := range current {
		addNumbers(has, slice.Ports)
	}
	for i := range publish {
		addNumbers(gets, publish[i].Ports.Ports)
	}
	next := slices.Clone(wanted)
	for i := range next {
		key := keyOf(&next[i])
		at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return keyOf(&p) == key })
		isOfAnother := at >= 0 && frontendOf(&service.Spec.Ports[at]) != frontendOf(&next[i])
		if at >= 0 && !isOfAnother {
			continue
		}
		if !containsNumbers(gets[key], has[key]) || isOfAnother && !containsNumbers(has[key], gets[key]) {
			next[i].Name = betweenName(&next[i])
		}
	}
	return next
}

// betweenName is longer than a name of a spec may be.
func betweenName(p *corev1.ServicePort) string {
	return fmt.Sprintf("transition-%s-%d", strings.ToLower(string(p.Protocol)), p.Port)
}

func addNumbers(to map[portKey]map[int32]bool, ports []discoveryv1.EndpointPort) {
	for i := range ports {
		key := keyOfEndpoint(&ports[i])
		if to[key] == nil {
			to[key] = map[int32]bool{}
		}
		to[key][ptr.Deref(ports[i].Port, 0)] = true
	}
}

func containsNumbers(all, some map[int32]bool) bool {
	for number := range some {
		if !all[number] {
			return false
		}
	}
	return true
}

// areOf reports whether a port set has the names of these ports alone.
func areOf(set *endpoints.PortSet, ports []corev1.ServicePort) bool {
	return !slices.ContainsFunc(set.Ports, func(is discoveryv1.EndpointPort) bool {
		return !slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return keyOf(&p) == keyOfEndpoint(&is) })
	})
}

// Under returns what to publish with the names that a Service with these ports finds it by. What is of slices has the names
// of the ports that it stands with. Of a port that the spec has no more, an address keeps the number that slices have, and a
// new one has that of the Service.
func Under(
	ports []corev1.ServicePort, es *networkingv1.ExternalService, stands []corev1.ServicePort, current []*discoveryv1.EndpointSlice,
	publish []failover.Published,
) []failover.Published {
	n := namer{ports: ports, wanted: Ports(es), stands: stands, current: current, sets: map[string]*endpoints.PortSet{}}
	if AreSame(ports, n.wanted) && !slices.ContainsFunc(publish, func(p failover.Published) bool { return p.IsOutgoing }) {
		return publish
	}
	out := make([]failover.Published, 0, len(publish))
	for _, p := range publish {
		set := n.set(&p)
		if len(set.Ports) == 0 {
			continue
		}
		renamed := *p.Candidate
		renamed.Ports = set
		out = append(out, failover.Published{Candidate: &renamed, IsReady: p.IsReady, IsOutgoing: p.IsOutgoing})
	}
	slices.SortStableFunc(out, func(a, b failover.Published) int {
		return cmp.Or(strings.Compare(a.Ports.Digest, b.Ports.Digest), a.IP.Compare(b.IP))
	})
	return slices.CompactFunc(out, func(a, b failover.Published) bool { return a.Ports.Digest == b.Ports.Digest && a.IP == b.IP })
}

// namer gives port sets the names of ports. A set has those of the spec (wanted), or, where it is of a slice, those of the
// Service as it stood (stands).
type namer struct {
	ports, wanted, stands []corev1.ServicePort
	current               []*discoveryv1.EndpointSlice
	sets                  map[string]*endpoints.PortSet // by digest
}

// set returns the ports of an address under the names.
func (n *namer) set(publish *failover.Published) *endpoints.PortSet {
	of, names := publish.Ports, n.wanted
	if publish.IsOutgoing && areOf(of, n.stands) {
		names = n.stands
	}
	var out []discoveryv1.EndpointPort
	for i := range n.ports {
		to := &n.ports[i]
		at := slices.IndexFunc(names, func(p corev1.ServicePort) bool { return frontendOf(&p) == frontendOf(to) })
		var found *discoveryv1.EndpointPort
		if at >= 0 {
			found = portIn(of.Ports, keyOf(&names[at]))
		} else {
			found = n.stored(publish.IP, to)
		}
		if found != nil {
			out = append(out, discoveryv1.EndpointPort{Name: &to.Name, Port: found.Port, Protocol: &to.Protocol, AppProtocol: found.AppProtocol})
		}
	}
	set := endpoints.NewPortSet(out)
	if known := n.sets[set.Digest]; known != nil {
		return known
	}
	n.sets[set.Digest] = set
	return set
}

// stored returns what an address has of a port that the spec has no more.
func (n *namer) stored(ip netip.Addr, port *corev1.ServicePort) *discoveryv1.EndpointPort {
	for _, slice := range n.current {
		found := portIn(slice.Ports, keyOf(port))
		if found == nil {
			continue
		}
		for key := range endpoints.In(slice) {
			if key.IP == ip {
				return found
			}
		}
	}
	if number := port.TargetPort.IntVal; number > 0 {
		return &discoveryv1.EndpointPort{Port: &number, AppProtocol: port.AppProtocol}
	}
	return nil
}

func portIn(ports []discoveryv1.EndpointPort, key portKey) *discoveryv1.EndpointPort {
	if at := slices.IndexFunc(ports, func(p discoveryv1.EndpointPort) bool { return keyOfEndpoint(&p) == key }); at >= 0 {
		return &ports[at]
	}
	return nil
}

// IsUsed reports whether clients of a Service find endpoints in a slice.
func IsUsed(slice *discoveryv1.EndpointSlice, service *corev1.Service) bool {
	isServed := func(p corev1.ServicePort) bool { return portIn(slice.Ports, keyOf(&p)) != nil }
	return service.Spec.ClusterIP == corev1.ClusterIPNone || slices.ContainsFunc(service.Spec.Ports, isServed)
}

// LosesEndpoints reports whether a Service that gets other ports would lose endpoints of a port that it keeps, as slices are
// now.
func LosesEndpoints(before, after []corev1.ServicePort, current []*discoveryv1.EndpointSlice) bool {
	for i := range before {
		at := slices.IndexFunc(after, func(p corev1.ServicePort) bool { return frontendOf(&p) == frontendOf(&before[i]) })
		if at < 0 || keyOf(&before[i]) == keyOf(&after[at]) {
			continue
		}
		left := reached(current, keyOf(&after[at]))
		for target := range reached(current, keyOf(&before[i])) {
			if !left[target] {
				return true
			}
		}
	}
	return false
}

// reached returns the endpoints that take traffic of a port.
func reached(current []*discoveryv1.EndpointSlice, key portKey) map[netip.AddrPort]bool {
	all := map[netip.AddrPort]bool{}
	for _, slice := range current {
		found := portIn(slice.Ports, key)
		if found == nil {
			continue
		}
		for at, e := range endpoints.In(slice) {
			if endpoints.IsReady(e) {
				all[netip.AddrPortFrom(at.IP, uint16(ptr.Deref(found.Port, 0)))] = true
			}
		}
	}
	return all
}
