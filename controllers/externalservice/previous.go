// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// previousState is what an earlier process has left in the EndpointSlices and the status. Slices are written
// first: where the two disagree the slices are right.
type previousState struct {
	status    *networkingv1.ExternalServiceStatus
	published map[publishedKey]bool // and whether it is ready
	// active is the priority that is published, or nil.
	active *int32
	// panicking means that all is published as ready since no address is healthy.
	panicking bool
	// statusOutdated means that the status was not written after the slices were: its health of other
	// priorities is out of date.
	statusOutdated bool
}

// publishedKey is an address with its ports in the slices.
type publishedKey struct {
	ip     netip.Addr
	digest string
}

// previousStateOf returns the state that slices and status hold.
func previousStateOf(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, all []resolvedEndpoint) *previousState {
	p := &previousState{status: &es.Status, active: es.Status.ActivePriority, published: map[publishedKey]bool{}}
	for _, slice := range current {
		digest := slicePortDigest(slice)
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if ip, err := netip.ParseAddr(e.Addresses[0]); err == nil {
				p.published[publishedKey{ip, digest}] = ptr.Deref(e.Conditions.Ready, true)
			}
		}
	}
	if f := es.Status.Fault; f.Lasts() { // what is published says nothing about health
		return &previousState{status: &es.Status, active: f.Priority}
	}
	counts := map[int32]int{}
	forEachActive(all, func(e *resolvedEndpoint, a *address) {
		if _, ok := p.published[publishedKey{a.ip, a.ports.digest}]; ok {
			counts[e.priority]++
		}
	})
	most := ptr.Deref(p.active, -1)
	for priority := range int32(numPriorities) {
		if counts[priority] > counts[most] {
			most = priority
		}
	}
	if most >= 0 && (p.active == nil || most != *p.active) {
		p.active, p.statusOutdated = &most, true
	}
	a := es.Status.Addresses
	p.panicking = !p.statusOutdated && es.Spec.HealthCheck != nil && a != nil && a.Healthy == 0 && a.Published > 0
	return p
}

func slicePortDigest(slice *discoveryv1.EndpointSlice) string {
	for _, p := range slice.Ports {
		if p.Name == nil || p.Port == nil || p.Protocol == nil {
			return "" // a user has edited it
		}
	}
	digest, _ := portDigest(slice.Ports)
	return digest
}

// healthSeed returns the health of an address, or nil where it is not known.
func (p *previousState) healthSeed(e *resolvedEndpoint, a *address) *probe.Seed {
	var stored networkingv1.AddressHealth
	var since time.Time
	if status := p.storedAddress(e.Name, a); status != nil {
		stored = status.Health
		if status.Since != nil {
			since = status.Since.Time
		}
	}
	state := stored
	ready, published := p.published[publishedKey{a.ip, a.ports.digest}]
	published = published && p.active != nil && *p.active == e.priority
	switch {
	case published && ready && !p.panicking:
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
func (p *previousState) storedAddress(endpoint string, a *address) *networkingv1.AddressStatus {
	ip, port := a.ip.String(), int32(a.srvPort)
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
