// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// Previous is what an earlier process has left in the EndpointSlices and the status. Slices are written
// first: where the two disagree the slices are right.
type Previous struct {
	status    *networkingv1.ExternalServiceStatus
	published map[Key]bool // and whether it is ready
	// Active is the priority that is published, or nil.
	Active *int32
	// IsPanicking means that all is published as ready since no address is healthy.
	IsPanicking bool
	// statusOutdated means that the status was not written after the slices were: its health of other
	// priorities is out of date.
	statusOutdated bool
}

// PreviousOf returns the state that slices and status hold.
func PreviousOf(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, all []Endpoint) *Previous {
	if f := es.Status.Fault; f.Lasts() { // what is published says nothing about health
		return &Previous{status: &es.Status, Active: f.Priority}
	}
	p := &Previous{status: &es.Status, Active: es.Status.ActivePriority, published: PublishedIn(slices.Values(current))}
	counts := map[int32]int{}
	for e, a := range Active(all) {
		if _, ok := p.published[a.Key()]; ok {
			counts[e.Priority]++
		}
	}
	most := ptr.Deref(p.Active, -1)
	for priority := range int32(NumPriorities) {
		if counts[priority] > counts[most] {
			most = priority
		}
	}
	if most >= 0 && (p.Active == nil || most != *p.Active) {
		p.Active, p.statusOutdated = &most, true
	}
	a := es.Status.Addresses
	p.IsPanicking = !p.statusOutdated && es.Spec.HealthCheck != nil && a != nil && a.Healthy == 0 && a.Published > 0
	return p
}

// HealthSeed returns the health of an address, or nil where it is not known.
func (p *Previous) HealthSeed(e *Endpoint, a *Address) *probe.Seed {
	var stored networkingv1.AddressHealth
	var since time.Time
	if status := p.storedAddress(e.Name, a); status != nil {
		stored = status.Health
		if status.LastTransitionTime != nil {
			since = status.LastTransitionTime.Time
		}
	}
	state := stored
	ready, published := p.published[a.Key()]
	published = published && p.Active != nil && *p.Active == e.Priority
	switch {
	case published && ready && !p.IsPanicking:
		state = networkingv1.AddressHealthy
	case published && !ready && stored != networkingv1.AddressUnknown:
		state = networkingv1.AddressUnhealthy
	case !published && p.statusOutdated:
		return nil
	}
	if state != networkingv1.AddressHealthy && state != networkingv1.AddressUnhealthy {
		return nil
	}
	if state != stored {
		since = time.Time{}
	}
	return &probe.Seed{State: state, Since: since}
}

// storedAddress returns an address of the status that has a health: that of the endpoint, or else of any other, since
// an endpoint may have been renamed. Only SRV records have a port there; one without is of any.
func (p *Previous) storedAddress(endpoint string, a *Address) *networkingv1.AddressStatus {
	ip, port := a.IP.String(), int32(a.SRVPort)
	var best *networkingv1.AddressStatus
	bestRank := 0
	for i := range p.status.Endpoints {
		e := &p.status.Endpoints[i]
		for j := range e.Addresses {
			is, rank := &e.Addresses[j], 1
			switch {
			case is.IP != ip, is.Health == "", is.Port != port && is.Port != 0 && port != 0:
				continue
			case is.Port == port && e.Name == endpoint:
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
