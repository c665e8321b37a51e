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

// previousState is what a process before this one has left: what stands in the EndpointSlices, and what the
// status says. Slices are written first, so where the two disagree the slices are right.
type previousState struct {
	status    *networkingv1.ExternalServiceStatus
	published map[publishedKey]bool // and whether it is ready
	// active is the priority that is published; nil where none is.
	active *int32
	// panicking says that everything is published as ready since nothing is healthy.
	panicking bool
	// statusOutdated says that the status was not written after the slices were: what it says of other
	// priorities is out of date.
	statusOutdated bool
}

// publishedKey is an address with its ports in the slices.
type publishedKey struct {
	ip     netip.Addr
	digest string
}

// previousStateOf reads what was left.
func previousStateOf(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, all []resolvedEndpoint) *previousState {
	l := &previousState{status: &es.Status, active: es.Status.ActivePriority, published: map[publishedKey]bool{}}
	for _, slice := range current {
		digest := slicePortDigest(slice)
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if ip, err := netip.ParseAddr(e.Addresses[0]); err == nil {
				l.published[publishedKey{ip, digest}] = ptr.Deref(e.Conditions.Ready, true)
			}
		}
	}
	if f := es.Status.Fault; f.Lasts() { // what is published says nothing about the outside
		return &previousState{status: &es.Status, active: f.Priority}
	}
	counts := map[int32]int{}
	forEachActive(all, func(s *resolvedEndpoint, a *address) {
		if _, ok := l.published[publishedKey{a.ip, a.ports.digest}]; ok {
			counts[s.priority]++
		}
	})
	most := ptr.Deref(l.active, -1)
	for priority := range int32(numPriorities) {
		if counts[priority] > counts[most] {
			most = priority
		}
	}
	if most >= 0 && (l.active == nil || most != *l.active) {
		l.active, l.statusOutdated = &most, true
	}
	a := es.Status.Addresses
	l.panicking = !l.statusOutdated && es.Spec.HealthCheck != nil && a != nil && a.Healthy == 0 && a.Published > 0
	return l
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

// healthSeed is what is known of the health of an address, or nil.
func (l *previousState) healthSeed(s *resolvedEndpoint, a *address) *probe.Seed {
	var said networkingv1.AddressHealth
	var since time.Time
	if status := statusAddress(statusOf(l.status, s.Name), a); status != nil {
		said = status.Health
		if status.Since != nil {
			since = status.Since.Time
		}
	}
	state := said
	ready, published := l.published[publishedKey{a.ip, a.ports.digest}]
	published = published && l.active != nil && *l.active == s.priority
	switch {
	case published && ready && !l.panicking:
		state = networkingv1.AddressHealthy
	case published && !ready && said != networkingv1.AddressUnknown:
		state = networkingv1.AddressUnhealthy
	case !published && l.statusOutdated:
		return nil
	}
	if state != networkingv1.AddressHealthy && state != networkingv1.AddressUnhealthy {
		return nil
	}
	if state != said {
		since = time.Time{}
	}
	return &probe.Seed{State: state, Since: since}
}

// statusAddress is what the status has of an address of an endpoint.
func statusAddress(status *networkingv1.EndpointStatus, a *address) *networkingv1.AddressStatus {
	if status == nil {
		return nil
	}
	for i := range status.Addresses {
		s := &status.Addresses[i]
		if s.Port != int32(a.srvPort) {
			continue
		}
		if ip, err := netip.ParseAddr(s.IP); err == nil && ip == a.ip {
			return s
		}
	}
	return nil
}
