// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"encoding/hex"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// resolvedEndpoint is an endpoint of the spec with its addresses.
type resolvedEndpoint struct {
	*networkingv1.Endpoint
	priority int32
	drained  bool
	// approved means that its author has the right to publish addresses of the cluster.
	approved bool
	// state of the DNS name; nil for static addresses.
	state     *resolution.State
	addresses []address
	// unreachable is how many more it has of a family that the Service lacks.
	unreachable int
}

// address is one address of an endpoint.
type address struct {
	ip      netip.Addr
	srvPort uint16 // port of the SRV record, or 0
	ports   *portSet
	// deniedReason is why the egress policy denies it, or empty.
	deniedReason egress.Reason
	deniedDetail string // the rest of a sentence that begins with the address
	health       probe.Health
	// changed is when health became what it is, by the clock as it is now: what health says was taken by the clock
	// as it was then.
	changed time.Time
	// flapping means that health is damped.
	flapping bool
}

// portSet is the ports of an EndpointSlice, shared by all addresses that have the same.
type portSet struct {
	ports   []discoveryv1.EndpointPort
	numbers []uint16
	// digest identifies the set, and shortDigest is in the names of its slices.
	digest, shortDigest string
	probePort           uint16
}

// resolveEndpoints returns the endpoints with their addresses: those of the spec, and those of names (states,
// in the order of resolutionNames), each checked against the policy. unsynced means that the policy cannot
// decide yet.
func resolveEndpoints(es *networkingv1.ExternalService, states []resolution.State, policy Policy) (all []resolvedEndpoint, unsynced bool) {
	approved := egress.Approved(es)
	all = make([]resolvedEndpoint, 0, len(es.Spec.Endpoints))
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		s := resolvedEndpoint{
			Endpoint: e, priority: *e.Priority, drained: *e.State == networkingv1.EndpointDrained,
			approved: approved && e.DNS == nil,
		}
		own := portSetOf(&es.Spec, e.Ports, 0)
		if e.DNS != nil && len(states) > 0 {
			s.state, states = &states[0], states[1:]
			s.addresses = make([]address, 0, len(s.state.Addresses))
			for _, found := range s.state.Addresses {
				ports := own
				if found.Port > 0 {
					ports = portSetOf(&es.Spec, nil, found.Port)
				}
				s.addresses = append(s.addresses, address{ip: found.IP, srvPort: found.Port, ports: ports})
			}
		} else {
			s.addresses = make([]address, 0, len(e.Addresses))
			for _, text := range e.Addresses {
				if ip, err := netip.ParseAddr(string(text)); err == nil { // the rules refuse what does not parse
					s.addresses = append(s.addresses, address{ip: ip, ports: own})
				}
			}
		}
		for j := range s.addresses {
			a := &s.addresses[j]
			q := egress.Query{Namespace: es.Namespace, IP: a.ip, Authorized: s.approved}
			verdict := policy.CheckPorts(q, a.ports.numbers)
			if verdict.Reason == egress.ReasonPodsUnknown && wasAllowed(&es.Status, a.ip) {
				q.Held = true
				verdict = policy.CheckPorts(q, a.ports.numbers)
			}
			if !verdict.Allowed {
				a.deniedReason, a.deniedDetail = verdict.Reason, verdict.Detail
				unsynced = unsynced || verdict.Reason == egress.ReasonUnsynced
			}
		}
		all = append(all, s)
	}
	return all, unsynced
}

// familiesOf returns the address families by which clients reach a Service: kube-proxy ignores EndpointSlices of another.
// It is nil for a headless one, whose clients use what its DNS name has; the API server gives it both families wherever it
// runs.
func familiesOf(service *corev1.Service) []corev1.IPFamily {
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	return service.Spec.IPFamilies
}

// dropUnreachable drops the addresses of families that the Service lacks: they are healthy or not for no client. No
// families mean that they are not known.
func dropUnreachable(all []resolvedEndpoint, families []corev1.IPFamily) {
	if len(families) == 0 {
		return
	}
	four, six := slices.Contains(families, corev1.IPv4Protocol), slices.Contains(families, corev1.IPv6Protocol)
	for i := range all {
		found := len(all[i].addresses)
		all[i].addresses = slices.DeleteFunc(all[i].addresses, func(a address) bool { return a.ip.Is4() && !four || !a.ip.Is4() && !six })
		all[i].unreachable = found - len(all[i].addresses)
	}
}

// wasAllowed reports whether the status has the address, of whichever endpoint, and the policy had not denied it.
func wasAllowed(status *networkingv1.ExternalServiceStatus, ip netip.Addr) bool {
	for i := range status.Endpoints {
		for _, a := range status.Endpoints[i].Addresses {
			if a.IP == ip.String() && a.Reason != networkingv1.ProbeDenied {
				return true
			}
		}
	}
	return false
}

// awaitsLookup reports whether this process has not looked up some name of an Active endpoint yet.
func awaitsLookup(all []resolvedEndpoint) bool {
	for i := range all {
		if e := &all[i]; e.state != nil && !e.state.LookedUp && !e.drained {
			return true
		}
	}
	return false
}

// forEachActive calls do with every address that may be published.
func forEachActive(all []resolvedEndpoint, do func(*resolvedEndpoint, *address)) {
	for i := range all {
		for j := range all[i].addresses {
			if a := &all[i].addresses[j]; !all[i].drained && a.deniedReason == "" {
				do(&all[i], a)
			}
		}
	}
}

// defaultHost returns the host that a check sends by default.
func (e *resolvedEndpoint) defaultHost() string {
	if e.DNS == nil {
		return ""
	}
	return strings.TrimSuffix(e.DNS.Name, ".")
}

// portSetOf returns the ports of an endpoint: the Service's target ports, unless the endpoint has its own
// (own). The port of an SRV record replaces them all; validation allows such an endpoint one port only.
func portSetOf(spec *networkingv1.ExternalServiceSpec, own []networkingv1.EndpointPort, srv uint16) *portSet {
	set := &portSet{
		ports:   make([]discoveryv1.EndpointPort, 0, len(spec.Ports)),
		numbers: make([]uint16, 0, len(spec.Ports)),
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		number := ptr.Deref(p.TargetPort, p.Port)
		for _, o := range own {
			if o.Name == p.Name {
				number = o.Port
			}
		}
		if srv > 0 {
			number = int32(srv)
		}
		if h := spec.HealthCheck; h != nil && (h.Port == p.Name || h.Port == "") {
			set.probePort = uint16(number)
		}
		set.numbers = append(set.numbers, uint16(number))
		set.ports = append(set.ports, discoveryv1.EndpointPort{
			Name:        &p.Name,
			Port:        &number,
			Protocol:    p.Protocol,
			AppProtocol: optional(p.AppProtocol),
		})
	}
	set.digest, set.shortDigest = portDigest(set.ports)
	return set
}

// portDigest returns what identifies a set of ports. short is in the names of slices, as in every version;
// where two sets of one object share it, packSlices distinguishes them. Both are the same in every process.
func portDigest(ports []discoveryv1.EndpointPort) (digest, short string) {
	named, hash := fnv.New32a(), fnv.New64a()
	var text []byte
	for _, p := range ports {
		text = append(text[:0], *p.Name...)
		text = append(text, '/')
		text = strconv.AppendInt(text, int64(*p.Port), 10)
		text = append(text, '/')
		text = append(text, *p.Protocol...)
		text = append(text, '/')
		text = append(text, ptr.Deref(p.AppProtocol, "")...)
		text = append(text, ';')
		_, _ = named.Write(text) // a hash never fails
		_, _ = hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil)), hex.EncodeToString(named.Sum(nil))
}

// optional returns nil for an empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// candidate is one address of a priority, however many endpoints of that priority have it.
type candidate struct {
	priority int32
	ip       netip.Addr
	ports    *portSet
	zone     string
	health   networkingv1.AddressHealth
	since    time.Time
}

// candidatesOf returns the addresses that may be published, ordered by priority, ports and address, each
// once: an address is healthy if the check of any endpoint that has it succeeds. The zone is the one that sorts
// first, so that neither the order in the spec nor the names of endpoints make a difference.
func candidatesOf(all []resolvedEndpoint) []candidate {
	n := 0
	forEachActive(all, func(*resolvedEndpoint, *address) { n++ })
	found := make([]candidate, 0, n)
	forEachActive(all, func(e *resolvedEndpoint, a *address) {
		found = append(found, candidate{e.priority, a.ip, a.ports, e.Zone, a.health.State, a.changed})
	})
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(a.compare(&b), compareZones(a.zone, b.zone))
	})
	out := make([]candidate, 0, len(found))
	for i := range found {
		next := &found[i]
		if last := len(out) - 1; last >= 0 && out[last].compare(next) == 0 {
			out[last].merge(next)
			continue
		}
		out = append(out, *next)
	}
	return out
}

// compareZones orders zones, with none last.
func compareZones(a, b string) int {
	if (a == "") != (b == "") {
		return -strings.Compare(a, b)
	}
	return strings.Compare(a, b)
}

// compare orders candidates; equal ones are merged.
func (c *candidate) compare(other *candidate) int {
	return cmp.Or(cmp.Compare(c.priority, other.priority), c.compareAddress(other))
}

// compareAddress orders candidates of one priority.
func (c *candidate) compareAddress(other *candidate) int {
	return cmp.Or(strings.Compare(c.ports.digest, other.ports.digest), c.ip.Compare(other.ip))
}

// merge keeps the better health of two endpoints with the same address, since the earlier time of both.
func (c *candidate) merge(other *candidate) {
	switch better := healthRank(other.health) - healthRank(c.health); {
	case better > 0:
		c.health, c.since = other.health, other.since
	case better == 0 && other.since.Before(c.since):
		c.since = other.since
	}
}

func healthRank(health networkingv1.AddressHealth) int {
	switch health {
	case networkingv1.AddressHealthy:
		return 2
	case networkingv1.AddressUnhealthy:
		return 0
	case networkingv1.AddressUnknown:
	}
	return 1
}
