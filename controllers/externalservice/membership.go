// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// maxSliceEndpoints is how many addresses one EndpointSlice holds at most, as the API server's own
// EndpointSlice controller has it by default.
const maxSliceEndpoints = 100

// desiredSlice is one EndpointSlice as it should be.
type desiredSlice struct {
	name      string
	family    discoveryv1.AddressType
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
	// hasNew says that an address comes in that did not stand in this slice.
	hasNew bool
}

// packSlices says which slices there should be, given those that there are. An EndpointSlice has one
// family and one set of ports. An address that stands in a slice stays there, at its place: every
// node's proxy reads every slice that changes. New addresses go where there is room, into slices
// that change anyway first.
//
// Slices that gain addresses come first and those that lose some later, so that one that moves is
// never in none. Slices of current that are not in the answer are to be removed.
func packSlices(name string, current []*discoveryv1.EndpointSlice, publish []publishedAddress) []desiredSlice {
	var out []desiredSlice
	names := map[string]bool{}
	for len(publish) > 0 {
		// Members are ordered by ports and then by address, IPv4 first.
		first, end := &publish[0], 1
		for end < len(publish) && publish[end].ports.digest == first.ports.digest && publish[end].ip.Is4() == first.ip.Is4() {
			end++
		}
		g := newGroup(name, publish[:end], names)
		g.keepPlaced(current)
		g.consolidate()
		g.placeNew()
		out = append(out, g.slices()...)
		publish = publish[end:]
	}
	slices.SortStableFunc(out, func(a, b desiredSlice) int {
		switch {
		case a.hasNew && !b.hasNew:
			return -1
		case b.hasNew && !a.hasNew:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}

// sliceGroup is the addresses that may share a slice.
type sliceGroup struct {
	prefix  string
	wanted  map[netip.Addr]*publishedAddress
	placed  map[netip.Addr]bool
	order   []publishedAddress
	planned []*plannedSlice
}

// plannedSlice is one slice of a group.
type plannedSlice struct {
	index     int
	addresses []netip.Addr
	// changed says that the slice is written anyway, and gains that an address is new to it.
	changed, hasNew bool
}

// newGroup names the slices of a group by the short digest of its ports. names are those that are
// taken: of two groups with one short digest the second has the long one.
func newGroup(name string, publish []publishedAddress, names map[string]bool) *sliceGroup {
	family := "ipv6"
	if publish[0].ip.Is4() {
		family = "ipv4"
	}
	prefix := name + "-" + family + "-" + publish[0].ports.shortDigest + "-"
	if names[prefix] {
		prefix = name + "-" + family + "-" + publish[0].ports.digest + "-"
	}
	names[prefix] = true
	g := &sliceGroup{
		prefix: prefix,
		wanted: make(map[netip.Addr]*publishedAddress, len(publish)),
		placed: make(map[netip.Addr]bool, len(publish)),
		order:  publish,
	}
	for i := range publish {
		g.wanted[publish[i].ip] = &publish[i]
	}
	return g
}

// keepPlaced takes over the addresses that stand in slices and are still wanted. Two slices may have one
// address for a moment; which of them keeps it must not depend on the order of the cache.
func (g *sliceGroup) keepPlaced(current []*discoveryv1.EndpointSlice) {
	found := map[*plannedSlice]*discoveryv1.EndpointSlice{}
	for _, c := range current {
		suffix, ours := strings.CutPrefix(c.Name, g.prefix)
		index, err := strconv.Atoi(suffix)
		if ours && err == nil && index >= 0 && strconv.Itoa(index) == suffix {
			p := &plannedSlice{index: index}
			found[p] = c
			g.planned = append(g.planned, p)
		}
	}
	slices.SortFunc(g.planned, func(a, b *plannedSlice) int { return cmp.Compare(a.index, b.index) })
	for _, p := range g.planned {
		for i := range found[p].Endpoints {
			e := &found[p].Endpoints[i]
			ip, err := netip.ParseAddr(e.Addresses[0])
			want := g.wanted[ip]
			if err != nil || want == nil || g.placed[ip] || len(p.addresses) == maxSliceEndpoints {
				p.changed = true
				continue
			}
			g.placed[ip] = true
			p.addresses = append(p.addresses, ip)
			p.changed = p.changed || ptr.Deref(e.Conditions.Ready, true) != want.ready
		}
	}
}

// consolidate gives up the smallest slices while there are more than twice as many as needed: what is
// left of many addresses must not be spread thin for good.
func (g *sliceGroup) consolidate() {
	needed := (len(g.order) + maxSliceEndpoints - 1) / maxSliceEndpoints
	for len(g.planned) > 2*needed {
		smallest := 0
		for i, p := range g.planned {
			if len(p.addresses) <= len(g.planned[smallest].addresses) {
				smallest = i
			}
		}
		for _, ip := range g.planned[smallest].addresses {
			g.placed[ip] = false
		}
		g.planned = slices.Delete(g.planned, smallest, smallest+1)
	}
}

// placeNew finds room for the addresses that have none.
func (g *sliceGroup) placeNew() {
	for i := range g.order {
		ip := g.order[i].ip
		if g.placed[ip] {
			continue
		}
		p := g.sliceWithRoom()
		p.addresses, p.changed, p.hasNew = append(p.addresses, ip), true, true
		g.placed[ip] = true
	}
}

// sliceWithRoom is a slice with room: one that changes anyway, or the one with most, or a new one.
func (g *sliceGroup) sliceWithRoom() *plannedSlice {
	var best *plannedSlice
	for _, p := range g.planned {
		switch {
		case len(p.addresses) >= maxSliceEndpoints:
		case best == nil, p.changed && !best.changed, p.changed == best.changed && !p.changed && len(p.addresses) < len(best.addresses):
			best = p
		}
	}
	if best != nil {
		return best
	}
	free := 0
	for slices.ContainsFunc(g.planned, func(p *plannedSlice) bool { return p.index == free }) {
		free++
	}
	best = &plannedSlice{index: free}
	g.planned = append(g.planned, best)
	return best
}

// slices are the parts that have addresses.
func (g *sliceGroup) slices() []desiredSlice {
	family := discoveryv1.AddressTypeIPv6
	if g.order[0].ip.Is4() {
		family = discoveryv1.AddressTypeIPv4
	}
	out := make([]desiredSlice, 0, len(g.planned))
	for _, p := range g.planned {
		if len(p.addresses) == 0 {
			continue
		}
		s := desiredSlice{
			name: g.prefix + strconv.Itoa(p.index), family: family, ports: g.order[0].ports.ports, hasNew: p.hasNew,
			endpoints: make([]discoveryv1.Endpoint, 0, len(p.addresses)),
		}
		for _, ip := range p.addresses {
			s.endpoints = append(s.endpoints, sliceEndpoint(g.wanted[ip]))
		}
		out = append(out, s)
	}
	return out
}

// sliceEndpoint always states its conditions: to kube-proxy a ready that is not set means ready.
func sliceEndpoint(p *publishedAddress) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{p.ip.String()},
		Zone:       optional(p.zone),
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(p.ready), Serving: ptr.To(p.ready), Terminating: ptr.To(false)},
	}
}
