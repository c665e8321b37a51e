// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Previous is the state that an earlier process left in the EndpointSlices and the status. Slices are written first: where the
// two disagree, the slices are right.
type Previous struct {
	status    *networkingv1.ExternalServiceStatus
	published map[Key]bool // and whether it is ready
	// Active is the priority that is published, as the spec numbers it now, or nil; and Reported the one of the status.
	Active, Reported *int32
	// IsPanicking means that all is published as ready since no address is healthy.
	IsPanicking bool
	// statusOutdated means that the status was not written after the slices were: its health of other
	// priorities is out of date.
	statusOutdated bool
	// isOtherCheck means that another check or port has found the health of the status, and used are the addresses that are
	// ready nevertheless.
	isOtherCheck bool
	used         map[netip.Addr]bool
}

// Edits are the edits of the spec since the status was written.
type Edits struct {
	// Any means that anything was, and Check that another check or port has found its health.
	Any, Check bool
}

// NoPriority is the active priority where the spec does not have the endpoints any more that are published.
const NoPriority int32 = -1

// PreviousOf returns the state that slices and status hold.
func PreviousOf(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, all []Endpoint, edited Edits) *Previous {
	p := &Previous{status: &es.Status, Active: es.Status.ActivePriority, Reported: es.Status.ActivePriority, isOtherCheck: edited.Check}
	if f := es.Status.Fault; f.Lasts() { // what is published says nothing about health
		p.Active = f.Priority
		return p
	}
	p.published = PublishedIn(slices.Values(current))
	active := ActiveIn(p.published, all, ptr.Deref(p.Active, NoPriority), &es.Status)
	switch {
	case edited.Any && p.Reported != nil:
		p.Reported = &active
	case active == NoPriority:
		active = ptr.Deref(p.Active, NoPriority) // a name has other addresses
	}
	if p.Active != nil && active != *p.Active || p.Active == nil && active != NoPriority {
		p.Active, p.statusOutdated = &active, true
	}
	if edited.Check {
		p.used = map[netip.Addr]bool{}
		for key, ready := range p.published {
			p.used[key.IP] = p.used[key.IP] || ready
		}
	}
	a := es.Status.Addresses
	p.IsPanicking = !p.statusOutdated && es.Spec.HealthCheck != nil && a != nil && a.Healthy == 0 && a.Published > 0
	return p
}

// ActiveIn returns the priority of the spec that has most of the published addresses; ready addresses count first. The number
// before an edit (former) may now belong to other endpoints. If the spec has none of the published addresses, the number stays
// if its endpoints have an address that the status lacks: that address replaces them. Otherwise it is NoPriority.
func ActiveIn(published map[Key]bool, all []Endpoint, former int32, status *networkingv1.ExternalServiceStatus) int32 {
	for _, reduced := range []func(Key) Key{func(k Key) Key { return k }, func(k Key) Key { return Key{IP: k.IP} }} {
		if most, hasAny := fullest(published, all, former, reduced); hasAny {
			return most
		}
	}
	// A name may have it after a lookup.
	if len(published) == 0 || AwaitLookup(all) || hasNewAddress(all, former, status) {
		return former
	}
	return NoPriority
}

// fullest returns the priority that has most of what is published, and whether it has any. Former wins a tie. Keys match by
// what reduced leaves of them.
func fullest(published map[Key]bool, all []Endpoint, former int32, reduced func(Key) Key) (most int32, hasAny bool) {
	isReady := make(map[Key]bool, len(published))
	for key, ready := range published {
		isReady[reduced(key)] = isReady[reduced(key)] || ready
	}
	var ready, held [NumPriorities]int
	for e, a := range Active(all) {
		key := reduced(a.Key())
		if _, isPublished := isReady[key]; !isPublished {
			continue
		}
		held[e.Priority]++
		if isReady[key] {
			ready[e.Priority]++
		}
	}
	most = max(former, 0)
	for priority := range int32(NumPriorities) {
		if cmp.Or(cmp.Compare(ready[priority], ready[most]), cmp.Compare(held[priority], held[most])) > 0 {
			most = priority
		}
	}
	return most, held[most] > 0
}

// hasNewAddress reports whether endpoints of a priority have an address that the status does not have.
func hasNewAddress(all []Endpoint, priority int32, status *networkingv1.ExternalServiceStatus) bool {
	known := map[string]bool{}
	for i := range status.Endpoints {
		for _, a := range status.Endpoints[i].Addresses {
			known[a.IP] = true
		}
	}
	for e, a := range Active(all) {
		if e.Priority == priority && !known[a.IP.String()] {
			return true
		}
	}
	return false
}

// HealthSeed returns the health of an address, or nil if unknown. sendsHost means that the check uses the name of the endpoint.
func (p *Previous) HealthSeed(e *Endpoint, a *Address, sendsHost bool) *probe.Seed {
	stored := p.storedAddress(e, a, sendsHost)
	ready, published := p.published[a.Key()]
	switch {
	case p.isOtherCheck && p.used[a.IP], sendsHost && stored == nil && ready:
		return &probe.Seed{State: networkingv1.AddressUnknown}
	case p.isOtherCheck, sendsHost && stored == nil:
		return nil
	}
	var was networkingv1.AddressHealth
	var since time.Time
	if stored != nil {
		was = stored.Health
		if stored.LastTransitionTime != nil {
			since = stored.LastTransitionTime.Time
		}
	}
	state := was
	published = published && p.Active != nil && *p.Active == e.Priority
	switch {
	case published && ready && !p.IsPanicking:
		state = networkingv1.AddressHealthy
	case published && !ready && was != networkingv1.AddressUnknown:
		state = networkingv1.AddressUnhealthy
	case !published && p.statusOutdated:
		return nil
	}
	if state != networkingv1.AddressHealthy && state != networkingv1.AddressUnhealthy {
		return nil
	}
	if state != was {
		since = time.Time{}
	}
	return &probe.Seed{State: state, Since: since}
}

// storedAddress returns an address of the status that has a health: that of the endpoint, or else of any other, since
// an endpoint may have been renamed. Only SRV records have a port there; one without is of any. Where the check uses the
// name of the endpoint, another one has found another health.
func (p *Previous) storedAddress(of *Endpoint, a *Address, sendsHost bool) *networkingv1.AddressStatus {
	ip, port := a.IP.String(), int32(a.SRVPort)
	var best *networkingv1.AddressStatus
	bestRank := 0
	for i := range p.status.Endpoints {
		e := &p.status.Endpoints[i]
		if sendsHost && !strings.EqualFold(strings.TrimSuffix(e.DNSName, "."), of.DefaultHost()) {
			continue
		}
		for j := range e.Addresses {
			is, rank := &e.Addresses[j], 1
			switch {
			case is.IP != ip, is.Health == "", is.Port != port && is.Port != 0 && port != 0:
				continue
			case is.Port == port && e.Name == of.Name:
				rank = 3
			case is.Port == port:
				rank = 2
			}
			if rank > bestRank {
				best, bestRank = is, rank
			}
		}
	}
	return best
}
