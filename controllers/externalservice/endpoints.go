// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"encoding/hex"
	"hash/fnv"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Where the spec was stored without defaults, these hold.
const (
	minTTL      = 30 * time.Second
	maxTTL      = time.Hour
	keepLastFor = 24 * time.Hour
)

// resolvedEndpoint is an endpoint of the spec as it was found: its addresses, and what is known of each.
type resolvedEndpoint struct {
	*networkingv1.Endpoint
	priority int32
	drained  bool
	// approved says that its writer was asked for the right to publish addresses of the cluster.
	approved bool
	// state of the DNS name; nil where the addresses stand in the spec.
	state     *resolution.State
	addresses []address
}

// address is one address of an endpoint.
type address struct {
	ip      netip.Addr
	srvPort uint16 // port of the SRV record, or 0
	ports   *portSet
	// deniedReason is why the egress policy refuses it; empty where it does not.
	deniedReason egress.Reason
	deniedDetail string // the rest of a sentence that begins with the address
	health       probe.Health
	// flapping says that health is held.
	flapping bool
}

// portSet is the ports of an EndpointSlice, shared by all addresses that have the same.
type portSet struct {
	ports   []discoveryv1.EndpointPort
	numbers []uint16
	// digest identifies the set, and short names the slices that have it.
	digest, shortDigest string
	probePort           uint16 // the port to check
}

// resolutionNames are the DNS names to look up. Drained endpoints are among them, so that putting one back
// into service waits for no lookup. Seeds are what the status says of the same name: it outlives
// this process.
func resolutionNames(es *networkingv1.ExternalService, seeded bool) []resolution.Name {
	var out []resolution.Name
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		if e.DNS == nil {
			continue
		}
		name := resolution.Name{
			Endpoint: e.Name, Host: e.DNS.Name, Records: ptr.Deref(e.DNS.RecordType, networkingv1.RecordAddress),
			MinTTL: minTTL, MaxTTL: maxTTL, KeepLastFor: keepLastFor, OnFailure: networkingv1.ResolutionKeepLast,
		}
		if r := es.Spec.Resolution; r != nil {
			name.MinTTL, name.MaxTTL, name.KeepLastFor = r.MinTTL.Or(minTTL), r.MaxTTL.Or(maxTTL), r.KeepLastFor.Or(keepLastFor)
			name.OnFailure = ptr.Deref(r.OnFailure, networkingv1.ResolutionKeepLast)
		}
		if !seeded {
			name.Seed, name.SeedTime = nameSeed(statusOf(&es.Status, e.Name), e.DNS)
		}
		out = append(out, name)
	}
	return out
}

func statusOf(status *networkingv1.ExternalServiceStatus, endpoint string) *networkingv1.EndpointStatus {
	for i := range status.Endpoints {
		if status.Endpoints[i].Name == endpoint {
			return &status.Endpoints[i]
		}
	}
	return nil
}

// nameSeed are the addresses that the status has of a name, if it speaks of that very name.
func nameSeed(status *networkingv1.EndpointStatus, name *networkingv1.DNSName) ([]dns.Address, time.Time) {
	if status == nil || status.DNSName != name.Name || status.ResolvedTime == nil {
		return nil, time.Time{}
	}
	services := ptr.Deref(name.RecordType, networkingv1.RecordAddress) == networkingv1.RecordSRV
	var seed []dns.Address
	for _, a := range status.Addresses {
		ip, err := netip.ParseAddr(a.IP)
		if err == nil && (a.Port > 0) == services {
			seed = append(seed, dns.Address{IP: ip, Port: uint16(a.Port)})
		}
	}
	return seed, status.ResolvedTime.Time
}

// resolveEndpoints are the endpoints with their addresses: those of the spec, and those that names lead to
// (states, in the order of names). Each is judged by the policy. unsynced says that the policy
// cannot judge yet.
func resolveEndpoints(es *networkingv1.ExternalService, states []resolution.State, policy Policy) (all []resolvedEndpoint, unsynced bool) {
	approved := egress.Approved(es)
	all = make([]resolvedEndpoint, 0, len(es.Spec.Endpoints))
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		s := resolvedEndpoint{
			Endpoint: e, priority: ptr.Deref(e.Priority, 0),
			drained:  ptr.Deref(e.State, networkingv1.EndpointActive) == networkingv1.EndpointDrained,
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
			verdict := policy.CheckPorts(egress.Query{Namespace: es.Namespace, IP: a.ip, Authorized: s.approved}, a.ports.numbers)
			if !verdict.Allowed {
				a.deniedReason, a.deniedDetail = verdict.Reason, verdict.Detail
				unsynced = unsynced || verdict.Reason == egress.ReasonUnsynced
			}
		}
		all = append(all, s)
	}
	return all, unsynced
}

// awaitsLookup says whether some name that matters was not looked up by this process yet.
func awaitsLookup(all []resolvedEndpoint) bool {
	for i := range all {
		if s := &all[i]; s.state != nil && !s.state.LookedUp && !s.drained {
			return true
		}
	}
	return false
}

// forEachActive goes through the addresses that may be published.
func forEachActive(all []resolvedEndpoint, do func(*resolvedEndpoint, *address)) {
	for i := range all {
		for j := range all[i].addresses {
			if a := &all[i].addresses[j]; !all[i].drained && a.deniedReason == "" {
				do(&all[i], a)
			}
		}
	}
}

// defaultHost is the name that a check is about by default.
func (s *resolvedEndpoint) defaultHost() string {
	if s.DNS == nil {
		return ""
	}
	return strings.TrimSuffix(s.DNS.Name, ".")
}

// portSetOf are the ports outside: the Service's target ports, but for those that the endpoint has of
// its own. The port of an SRV record, where there is one, stands for all of them; the rules see to
// it that there is only one.
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
			Protocol:    ptr.To(ptr.Deref(p.Protocol, corev1.ProtocolTCP)),
			AppProtocol: optional(p.AppProtocol),
		})
	}
	set.digest, set.shortDigest = portDigest(set.ports)
	return set
}

// portDigest identifies a set of ports: two of one object are the same where their digests are. short is
// the part of it that names slices, as every version has named them; where two sets of one object have
// the same, arrange tells them apart. Both are the same in every process.
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

// optional is nil for an empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
