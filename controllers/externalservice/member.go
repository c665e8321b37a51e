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

// member is one address of a priority, however many endpoints of that priority have it.
type member struct {
	priority int32
	ip       netip.Addr
	ports    *portSet
	zone     string
	health   networkingv1.AddressHealth
	since    time.Time
}

// membersOf are the addresses that may be published, ordered by priority, ports and address, each
// once: an address is healthy where some endpoint's check says so. The zone is that of the endpoint
// whose name comes first, so that the order of the spec makes no difference.
func membersOf(all []site) []member {
	type named struct {
		member
		endpoint string
	}
	n := 0
	active(all, func(*site, *address) { n++ })
	found := make([]named, 0, n)
	active(all, func(s *site, a *address) {
		found = append(found, named{member{s.priority, a.ip, a.ports, s.Zone, a.health.State, a.health.Since}, s.Name})
	})
	slices.SortFunc(found, func(a, b named) int {
		return cmp.Or(a.compare(&b.member), strings.Compare(a.endpoint, b.endpoint))
	})
	out := make([]member, 0, len(found))
	for i := range found {
		next := &found[i].member
		if last := len(out) - 1; last >= 0 && out[last].compare(next) == 0 {
			out[last].merge(next)
			continue
		}
		out = append(out, *next)
	}
	return out
}

// compare orders members by what makes them one and the same.
func (m *member) compare(o *member) int {
	return cmp.Or(cmp.Compare(m.priority, o.priority), strings.Compare(m.ports.digest, o.ports.digest), m.ip.Compare(o.ip))
}

// merge takes in what another endpoint's check says of the same address: the better of both, for as
// long as either has.
func (m *member) merge(o *member) {
	switch better := rank(o.health) - rank(m.health); {
	case better > 0:
		m.health, m.since = o.health, o.since
	case better == 0 && o.since.Before(m.since):
		m.since = o.since
	}
}

func rank(health networkingv1.AddressHealth) int {
	switch health {
	case networkingv1.AddressHealthy:
		return 2
	case networkingv1.AddressUnhealthy:
		return 0
	case networkingv1.AddressUnknown:
	}
	return 1
}
