// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// What is ready stays ready until a check of it fails, or until what replaces it was looked up and checked: an edit, or
// another answer of a nameserver, leaves no Service without an address that takes traffic.

// wanted returns the addresses to have in slices, ordered by ports and address.
func (d *decision) wanted() []publishedAddress {
	if len(d.outgoing) == 0 {
		return d.published
	}
	all := slices.Concat(d.published, d.outgoing)
	slices.SortFunc(all, func(a, b publishedAddress) int { return a.compareAddress(b.candidate) })
	return all
}

// keepReady has the decision keep what is ready in slices:
//
//   - An address that it publishes stays ready while it is Unknown.
//   - One that it does not publish stays while a name was not looked up yet, or while an address that it publishes
//     waits for its first check, as long as that may take. One that is drained, or of another priority, stays only
//     where nothing else is ready.
//
// What the policy denies and what is unhealthy does not stay.
func (r *Reconciler) keepReady(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, o *observation, d *decision, state *objectState) {
	k := &keeper{es: es, policy: r.Policy, observation: o, decision: d, now: r.Now(), since: state.outgoingSince}
	if es.Spec.HealthCheck != nil {
		k.grace = firstProbeGrace(es.Spec.HealthCheck)
	}
	k.keepUnknown(current)
	k.keepOutgoing(current)
	state.outgoingSince = k.kept
}

// keeper decides which addresses stay ready.
type keeper struct {
	*observation
	*decision

	es     *networkingv1.ExternalService
	policy endpoints.Policy
	now    time.Time
	// grace is how long a first check may take.
	grace time.Duration
	// since is when addresses became outgoing, up to the last decision, and kept the same after this one.
	since, kept map[endpoints.Key]time.Time
}

// keepUnknown makes addresses ready that are Unknown and ready in slices.
func (k *keeper) keepUnknown(current []*discoveryv1.EndpointSlice) {
	if !slices.ContainsFunc(k.published, func(p publishedAddress) bool { return !p.ready && p.health == networkingv1.AddressUnknown }) {
		return
	}
	ready := readyAddresses(current)
	for i := range k.published {
		if p := &k.published[i]; p.health == networkingv1.AddressUnknown && ready[endpoints.Key{IP: p.ip, Ports: p.ports.Digest}] != nil {
			p.ready = true
		}
	}
}

// keepOutgoing sets the addresses that stay beside those that are published.
func (k *keeper) keepOutgoing(current []*discoveryv1.EndpointSlice) {
	awaitsLookup, awaitsCheckUntil := k.incomplete, k.firstCheckUntil()
	if !awaitsLookup && awaitsCheckUntil.IsZero() || k.panicking {
		return
	}
	ready := readyAddresses(current)
	for _, p := range k.published {
		delete(ready, endpoints.Key{IP: p.ip, Ports: p.ports.Digest})
	}
	if len(ready) == 0 {
		return
	}
	placed, noneReady := k.placed(), k.readyCount() == 0
	k.kept = make(map[endpoints.Key]time.Time, len(ready))
	for at, p := range ready {
		since, known := k.since[at]
		if !known {
			since = k.now
		}
		until := since.Add(k.grace)
		health, stillThere := placed[at.IP]
		switch {
		case health == networkingv1.AddressUnhealthy, stillThere && !noneReady, !k.allows(p):
			continue
		case awaitsLookup:
		case k.suspect:
		case !k.now.Before(until):
			continue
		default:
			k.requeueBy(controller.Earliest(until, awaitsCheckUntil))
		}
		k.kept[at] = since
		k.outgoing = append(k.outgoing, publishedAddress{p, true})
	}
}

// firstCheckUntil returns until when a published address waits for its first check, or zero.
func (k *keeper) firstCheckUntil() (until time.Time) {
	for _, p := range k.published {
		if p.health != networkingv1.AddressUnknown {
			continue
		}
		if due := p.since.Add(k.grace); k.suspect || k.now.Before(due) {
			until = latest(until, due)
		}
	}
	return until
}

// placed returns the health of the addresses that the spec has now, also of those that are drained.
func (k *keeper) placed() map[netip.Addr]networkingv1.AddressHealth {
	all := map[netip.Addr]networkingv1.AddressHealth{}
	for i := range k.endpoints {
		for j := range k.endpoints[i].Addresses {
			a := &k.endpoints[i].Addresses[j]
			if before, ok := all[a.IP]; !ok || healthRank(a.Health.State) > healthRank(before) {
				all[a.IP] = a.Health.State
			}
		}
	}
	return all
}

// allows reports whether the policy allows an address that is in a slice. Its approval ends with the spec that it is
// about, unless that still has the address.
func (k *keeper) allows(p *candidate) bool {
	static := endpoints.StaticAddresses(&k.es.Spec)[p.ip.String()]
	query := egress.Query{Namespace: k.es.Namespace, IP: p.ip, Authorized: static && egress.Approved(k.es)}
	return k.policy.CheckPorts(query, p.ports.Numbers).Allowed
}

// readyAddresses returns the addresses that are ready in slices, as candidates.
func readyAddresses(current []*discoveryv1.EndpointSlice) map[endpoints.Key]*candidate {
	ready := map[endpoints.Key]*candidate{}
	for _, slice := range current {
		ports := endpoints.PortsOf(slice)
		if ports.Digest == "" {
			continue
		}
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			ip, err := netip.ParseAddr(e.Addresses[0])
			if err == nil && ptr.Deref(e.Conditions.Ready, true) {
				ready[endpoints.Key{IP: ip, Ports: ports.Digest}] = &candidate{ip: ip, ports: ports, zone: ptr.Deref(e.Zone, ""), health: networkingv1.AddressUnknown}
			}
		}
	}
	return ready
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
