// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"
)

// Range is a prefix, and why it is denied.
type Range struct {
	Prefix netip.Prefix
	Reason Reason
}

// rangeSet holds sorted disjoint ranges: a lookup among 5,000 nodes makes 14 comparisons.
type rangeSet struct {
	v4, v6 []Range
}

// discovery holds the ranges and pod addresses of the cluster, as far as they were read.
type discovery struct {
	ranges []Range
	// pods have the addresses that pods have now; nil where they are not read.
	pods *podAddresses
	// podsUnknown means that neither the ranges nor the addresses of pods are known.
	podsUnknown bool
}

// clusterRanges are those of the cluster. The API server's are apart: they are within those of Services or nodes, and
// a rule that allows these does not mean the API server.
type clusterRanges struct {
	server, others *rangeSet
	pods           *podAddresses
	podsUnknown    bool
}

func newClusterRanges(discovered discovery) *clusterRanges {
	var server, others []Range
	for _, r := range discovered.ranges {
		if r.Reason == ReasonAPIServer {
			server = append(server, r)
		} else {
			others = append(others, r)
		}
	}
	return &clusterRanges{newRangeSet(server), newRangeSet(others), discovered.pods, discovered.podsUnknown}
}

func (c *clusterRanges) equal(other *clusterRanges) bool {
	return c.server.equal(other.server) && c.others.equal(other.others) &&
		c.pods == other.pods && c.podsUnknown == other.podsUnknown
}

// findPod returns the address itself where a pod has it, or may have it.
func (c *clusterRanges) findPod(ip netip.Addr, held bool) (Range, bool) {
	switch {
	case c.pods != nil && c.pods.has(ip):
		return Range{netip.PrefixFrom(ip, ip.BitLen()), ReasonPod}, true
	case c.podsUnknown && !held && (ip.IsPrivate() || sharedAddresses.Contains(ip)):
		return Range{netip.PrefixFrom(ip, 0), ReasonPodsUnknown}, true
	}
	return Range{}, false
}

// isInRange reports whether a range of the cluster contains ip.
func (c *clusterRanges) isInRange(ip netip.Addr) bool {
	_, isServer := c.server.find(ip)
	_, isOther := c.others.find(ip)
	return isServer || isOther
}

// newRangeSet sorts ranges and drops those within a wider one, and those without a valid prefix.
func newRangeSet(ranges []Range) *rangeSet {
	sorted := make([]Range, 0, len(ranges))
	for _, r := range ranges {
		if r.Prefix.IsValid() {
			r.Prefix = unmapped(r.Prefix).Masked()
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, func(a, b Range) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()),
			cmp.Compare(a.Reason, b.Reason))
	})
	s := &rangeSet{}
	for _, r := range sorted {
		family := &s.v6
		if r.Prefix.Addr().Is4() {
			family = &s.v4
		}
		if last := len(*family) - 1; last >= 0 && (*family)[last].Prefix.Contains(r.Prefix.Addr()) {
			continue
		}
		*family = append(*family, r)
	}
	return s
}

// unmapped returns a prefix of ::ffff:0:0/96 as an IPv4 prefix.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// find returns the widest range that contains ip.
func (s *rangeSet) find(ip netip.Addr) (Range, bool) {
	family := s.v6
	if ip.Is4() {
		family = s.v4
	}
	next := sort.Search(len(family), func(i int) bool { return family[i].Prefix.Addr().Compare(ip) > 0 })
	if next == 0 || !family[next-1].Prefix.Contains(ip) {
		return Range{}, false
	}
	return family[next-1], true
}

func (s *rangeSet) equal(other *rangeSet) bool {
	return slices.Equal(s.v4, other.v4) && slices.Equal(s.v6, other.v6)
}
