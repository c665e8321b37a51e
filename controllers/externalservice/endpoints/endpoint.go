// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"iter"
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
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// NumPriorities is how many priorities the API allows, from 0 on.
const NumPriorities = 10

// Endpoint is an endpoint of the spec with its addresses.
type Endpoint struct {
	Name, Zone string
	// DNS is the name that is looked up; nil for static addresses.
	DNS       *networkingv1.DNSName
	Priority  int32
	IsDrained bool
	// IsApproved means that its author has the right to publish addresses of the cluster.
	IsApproved bool
	// State of the DNS name; nil for static addresses.
	State     *resolution.State
	Addresses []Address
	// Unreachable is how many more it has of a family that the Service lacks.
	Unreachable int
}

// Address is one address of an endpoint.
type Address struct {
	IP      netip.Addr
	SRVPort uint16 // port of the SRV record, or 0
	Ports   *PortSet
	// DeniedReason is why the egress policy denies it, or empty.
	DeniedReason egress.Reason
	DeniedDetail string // the rest of a sentence that begins with the address
	Health       probe.Health
	// Changed is when health became what it is, by the clock as it is now: what Health says was taken by the clock
	// as it was then.
	Changed time.Time
	// IsFlapping means that Health is damped.
	IsFlapping bool
}

// Key returns what identifies an address in slices.
func (a *Address) Key() Key { return Key{a.IP, a.Ports.Digest} }

// Policy decides which addresses may be published and checked.
type Policy interface {
	// CheckPorts decides about an address with the ports that it is published with.
	CheckPorts(query egress.Query, ports []uint16) egress.Verdict
}

// Resolve returns the endpoints with their addresses: those of the spec, and those of names (states, in the order of
// Names), each checked against the policy. unsynced means that the policy cannot decide yet.
func Resolve(es *networkingv1.ExternalService, states []resolution.State, policy Policy) (all []Endpoint, unsynced bool) {
	approved := egress.Approved(es)
	all = make([]Endpoint, len(es.Spec.Endpoints))
	for i := range all {
		of, e := &es.Spec.Endpoints[i], &all[i]
		*e = Endpoint{
			Name: of.Name, Zone: ptr.Deref(of.Zone, ""), DNS: of.DNS, Priority: *of.Priority, IsDrained: *of.State == networkingv1.EndpointDrained,
			IsApproved: approved && of.DNS == nil,
		}
		if of.DNS != nil && len(states) > 0 {
			e.State, states = &states[0], states[1:]
		}
		e.Addresses = addressesOf(&es.Spec, of, e.State)
		for j := range e.Addresses {
			a := &e.Addresses[j]
			a.check(es, policy, e.IsApproved)
			unsynced = unsynced || a.DeniedReason == egress.ReasonUnsynced
		}
	}
	return all, unsynced
}

// Known returns the endpoints with the addresses and the health that the status has, where nothing is looked up or checked. It
// counts although the check was edited: nothing else will be known.
func Known(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, policy Policy) (all []Endpoint, unsynced bool) {
	var states []resolution.State
	for i := range es.Spec.Endpoints {
		if es.Spec.Endpoints[i].DNS == nil {
			continue
		}
		state := resolution.State{LookedUp: true}
		if was := StatusOf(&es.Status, es.Spec.Endpoints[i].Name); was != nil {
			for _, a := range was.Addresses {
				if ip, err := netip.ParseAddr(a.IP); err == nil {
					state.Addresses = append(state.Addresses, dns.Address{IP: ip, Port: uint16(a.Port)})
				}
			}
		}
		states = append(states, state)
	}
	all, unsynced = Resolve(es, states, policy)
	left := PreviousOf(es, current, all, Edits{})
	sendsHost := es.Spec.HealthCheck != nil && (&probe.Check{Check: es.Spec.HealthCheck.Check}).UsesHost()
	for e, a := range Active(all) {
		a.Health.State = networkingv1.AddressUnknown
		if seed := left.HealthSeed(e, a, sendsHost); seed != nil {
			a.Health.State = seed.State
		}
	}
	return all, unsynced
}

// addressesOf returns the addresses of an endpoint: those of its name where state is not nil, and else its own.
func addressesOf(spec *networkingv1.ExternalServiceSpec, of *networkingv1.Endpoint, state *resolution.State) []Address {
	ports := PortSetOf(spec, of.Ports, 0)
	if state == nil {
		all := make([]Address, 0, len(of.Addresses))
		for _, text := range of.Addresses {
			if ip, err := netip.ParseAddr(string(text)); err == nil { // the rules refuse what does not parse
				all = append(all, Address{IP: ip, Ports: ports})
			}
		}
		return all
	}
	all := make([]Address, len(state.Addresses))
	for i, found := range state.Addresses {
		all[i] = Address{IP: found.IP, SRVPort: found.Port, Ports: ports}
		if found.Port > 0 {
			all[i].Ports = PortSetOf(spec, nil, found.Port)
		}
	}
	return all
}

// check sets why the policy denies an address. One that it allowed before is allowed while it does not know the pods.
func (a *Address) check(es *networkingv1.ExternalService, policy Policy, isApproved bool) {
	query := egress.Query{Namespace: es.Namespace, IP: a.IP, Authorized: isApproved}
	verdict := policy.CheckPorts(query, a.Ports.Numbers)
	if verdict.Reason == egress.ReasonPodsUnknown && wasAllowed(&es.Status, a.IP) {
		query.Held = true
		verdict = policy.CheckPorts(query, a.Ports.Numbers)
	}
	if !verdict.Allowed {
		a.DeniedReason, a.DeniedDetail = verdict.Reason, verdict.Detail
	}
}

// FamiliesOf returns the address families by which clients reach a Service: kube-proxy ignores EndpointSlices of another.
// It is nil for a headless one, whose clients use what its DNS name has; the API server gives it both families wherever it
// runs.
func FamiliesOf(service *corev1.Service) []corev1.IPFamily {
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	return service.Spec.IPFamilies
}

// DropUnreachable drops the addresses of families that the Service lacks: they are healthy or not for no client. No
// families mean that they are not known.
func DropUnreachable(all []Endpoint, families []corev1.IPFamily) {
	for i := range all {
		found := len(all[i].Addresses)
		all[i].Addresses = slices.DeleteFunc(all[i].Addresses, func(a Address) bool { return !isReachable(a.IP, families) })
		all[i].Unreachable = found - len(all[i].Addresses)
	}
}

// isReachable reports whether a Service of these families has that of an address.
func isReachable(ip netip.Addr, families []corev1.IPFamily) bool {
	family := corev1.IPv6Protocol
	if ip.Is4() {
		family = corev1.IPv4Protocol
	}
	return len(families) == 0 || slices.Contains(families, family)
}

// wasAllowed reports whether the status lists the address for any endpoint, and the policy had not denied it.
func wasAllowed(status *networkingv1.ExternalServiceStatus, ip netip.Addr) bool {
	return slices.ContainsFunc(status.Endpoints, func(e networkingv1.EndpointStatus) bool {
		return slices.ContainsFunc(e.Addresses, func(a networkingv1.AddressStatus) bool {
			return a.IP == ip.String() && a.Reason != networkingv1.ProbeDenied
		})
	})
}

// AwaitLookup reports whether this process has not looked up some name of an Active endpoint yet.
func AwaitLookup(all []Endpoint) bool {
	for i := range all {
		if e := &all[i]; e.State != nil && !e.State.LookedUp && !e.IsDrained {
			return true
		}
	}
	return false
}

// Active returns every address that may be published, with its endpoint.
func Active(all []Endpoint) iter.Seq2[*Endpoint, *Address] {
	return func(yield func(*Endpoint, *Address) bool) {
		for i := range all {
			for j := range all[i].Addresses {
				if a := &all[i].Addresses[j]; !all[i].IsDrained && a.DeniedReason == "" && !yield(&all[i], a) {
					return
				}
			}
		}
	}
}

// DefaultHost returns the host that a check sends by default.
func (e *Endpoint) DefaultHost() string {
	if e.DNS == nil {
		return ""
	}
	return strings.TrimSuffix(e.DNS.Name, ".")
}

// Reason returns how the last lookup ended, or Denied where no address of it may be published.
func (e *Endpoint) Reason() string {
	if e.State == nil {
		return ""
	}
	if len(e.Addresses) > 0 && !slices.ContainsFunc(e.Addresses, func(a Address) bool { return a.DeniedReason == "" }) {
		return networkingv1.ReasonDenied
	}
	return e.State.Reason
}

// IsResolved reports whether the reason of a lookup is that it succeeded, or that there was none yet.
func IsResolved(reason string) bool { return reason == "" || reason == networkingv1.ReasonResolved }
