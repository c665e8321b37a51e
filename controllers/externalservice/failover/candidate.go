// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
)

// Candidate is one address of a priority, however many endpoints of that priority have it.
type Candidate struct {
	Priority int32
	IP       netip.Addr
	Ports    *endpoints.PortSet
	Zone     string
	Health   networkingv1.AddressHealth
	since    time.Time
}

// Key returns what identifies the candidate in slices.
func (c *Candidate) Key() endpoints.Key { return endpoints.Key{IP: c.IP, Ports: c.Ports.Digest} }

// candidatesOf returns the addresses that may be published, ordered by priority, ports and address, each
// once: an address is healthy if the check of any endpoint that has it succeeds. The zone is the one that sorts
// first, so that neither the order in the spec nor the names of endpoints make a difference.
func candidatesOf(all []endpoints.Endpoint) []Candidate {
	var found []Candidate
	for e, a := range endpoints.Active(all) {
		found = append(found, Candidate{e.Priority, a.IP, a.Ports, e.Zone, a.Health.State, a.Changed})
	}
	slices.SortFunc(found, func(a, b Candidate) int {
		return cmp.Or(a.compare(&b), compareZones(a.Zone, b.Zone))
	})
	out := make([]Candidate, 0, len(found))
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
func (c *Candidate) compare(other *Candidate) int {
	return cmp.Or(cmp.Compare(c.Priority, other.Priority), c.compareAddress(other))
}

// compareAddress orders candidates of one priority.
func (c *Candidate) compareAddress(other *Candidate) int {
	return cmp.Or(strings.Compare(c.Ports.Digest, other.Ports.Digest), c.IP.Compare(other.IP))
}

// merge keeps the better health of two endpoints with the same address, since the earlier time of both.
func (c *Candidate) merge(other *Candidate) {
	switch better := healthRank(other.Health) - healthRank(c.Health); {
	case better > 0:
		c.Health, c.since = other.Health, other.since
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
