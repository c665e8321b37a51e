// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// candidate is one address of a priority, however many endpoints of that priority have it.
type candidate struct {
	priority int32
	ip       netip.Addr
	ports    *portSet
	zone     string
	health   networkingv1.AddressHealth
	since    time.Time
}

// candidatesOf are the addresses that may be published, ordered by priority, ports and address, each
// once: an address is healthy where some endpoint's check says so. The zone is that of the endpoint
// whose name comes first, so that the order of the spec makes no difference.
func candidatesOf(all []resolvedEndpoint) []candidate {
	type named struct {
		candidate
		endpoint string
	}
	n := 0
	forEachActive(all, func(*resolvedEndpoint, *address) { n++ })
	found := make([]named, 0, n)
	forEachActive(all, func(s *resolvedEndpoint, a *address) {
		found = append(found, named{candidate{s.priority, a.ip, a.ports, s.Zone, a.health.State, a.health.Since}, s.Name})
	})
	slices.SortFunc(found, func(a, b named) int {
		return cmp.Or(a.compare(&b.candidate), strings.Compare(a.endpoint, b.endpoint))
	})
	out := make([]candidate, 0, len(found))
	for i := range found {
		next := &found[i].candidate
		if last := len(out) - 1; last >= 0 && out[last].compare(next) == 0 {
			out[last].merge(next)
			continue
		}
		out = append(out, *next)
	}
	return out
}

// compare orders members by what makes them one and the same.
func (m *candidate) compare(o *candidate) int {
	return cmp.Or(cmp.Compare(m.priority, o.priority), strings.Compare(m.ports.digest, o.ports.digest), m.ip.Compare(o.ip))
}

// merge takes in what another endpoint's check says of the same address: the better of both, for as
// long as either has.
func (m *candidate) merge(o *candidate) {
	switch better := healthRank(o.health) - healthRank(m.health); {
	case better > 0:
		m.health, m.since = o.health, o.since
	case better == 0 && o.since.Before(m.since):
		m.since = o.since
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
