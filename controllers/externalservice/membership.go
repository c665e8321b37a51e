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

// slice is one EndpointSlice as it should be.
type slice struct {
	name      string
	family    discoveryv1.AddressType
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
	// gains says that an address comes in that did not stand in this slice.
	gains bool
}

// arrange says which slices there should be, given those that there are. An EndpointSlice has one
// family and one set of ports. An address that stands in a slice stays there, at its place: every
// node's proxy reads every slice that changes. New addresses go where there is room, into slices
// that change anyway first.
//
// Slices that gain addresses come first and those that lose some later, so that one that moves is
// never in none. Slices of current that are not in the answer are to be removed.
func arrange(name string, current []*discoveryv1.EndpointSlice, publish []publication) []slice {
	var out []slice
	names := map[string]bool{}
	for len(publish) > 0 {
		// Members are ordered by ports and then by address, IPv4 first.
		first, end := &publish[0], 1
		for end < len(publish) && publish[end].ports.digest == first.ports.digest && publish[end].ip.Is4() == first.ip.Is4() {
			end++
		}
		g := newGroup(name, publish[:end], names)
		g.keep(current)
		g.dissolve()
		g.place()
		out = append(out, g.slices()...)
		publish = publish[end:]
	}
	slices.SortStableFunc(out, func(a, b slice) int {
		switch {
		case a.gains && !b.gains:
			return -1
		case b.gains && !a.gains:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}

// group is the addresses that may share a slice.
type group struct {
	prefix string
	wanted map[netip.Addr]*publication
	placed map[netip.Addr]bool
	order  []publication
	parts  []*part
}

// part is one slice of a group.
type part struct {
	index   int
	members []netip.Addr
	// changes says that the slice is written anyway, and gains that an address is new to it.
	changes, gains bool
}

// newGroup names the slices of a group by the short digest of its ports. names are those that are
// taken: of two groups with one short digest the second has the long one.
func newGroup(name string, publish []publication, names map[string]bool) *group {
	family := "ipv6"
	if publish[0].ip.Is4() {
		family = "ipv4"
	}
	prefix := name + "-" + family + "-" + publish[0].ports.short + "-"
	if names[prefix] {
		prefix = name + "-" + family + "-" + publish[0].ports.digest + "-"
	}
	names[prefix] = true
	g := &group{
		prefix: prefix,
		wanted: make(map[netip.Addr]*publication, len(publish)),
		placed: make(map[netip.Addr]bool, len(publish)),
		order:  publish,
	}
	for i := range publish {
		g.wanted[publish[i].ip] = &publish[i]
	}
	return g
}

// keep takes over the addresses that stand in slices and are still wanted. Two slices may have one
// address for a moment; which of them keeps it must not depend on the order of the cache.
func (g *group) keep(current []*discoveryv1.EndpointSlice) {
	found := map[*part]*discoveryv1.EndpointSlice{}
	for _, c := range current {
		suffix, ours := strings.CutPrefix(c.Name, g.prefix)
		index, err := strconv.Atoi(suffix)
		if ours && err == nil && index >= 0 && strconv.Itoa(index) == suffix {
			p := &part{index: index}
			found[p] = c
			g.parts = append(g.parts, p)
		}
	}
	slices.SortFunc(g.parts, func(a, b *part) int { return cmp.Compare(a.index, b.index) })
	for _, p := range g.parts {
		for i := range found[p].Endpoints {
			e := &found[p].Endpoints[i]
			ip, err := netip.ParseAddr(e.Addresses[0])
			want := g.wanted[ip]
			if err != nil || want == nil || g.placed[ip] || len(p.members) == maxSliceEndpoints {
				p.changes = true
				continue
			}
			g.placed[ip] = true
			p.members = append(p.members, ip)
			p.changes = p.changes || ptr.Deref(e.Conditions.Ready, true) != want.ready
		}
	}
}

// dissolve gives up the smallest slices while there are more than twice as many as needed: what is
// left of many addresses must not be spread thin for good.
func (g *group) dissolve() {
	needed := (len(g.order) + maxSliceEndpoints - 1) / maxSliceEndpoints
	for len(g.parts) > 2*needed {
		smallest := 0
		for i, p := range g.parts {
			if len(p.members) <= len(g.parts[smallest].members) {
				smallest = i
			}
		}
		for _, ip := range g.parts[smallest].members {
			g.placed[ip] = false
		}
		g.parts = slices.Delete(g.parts, smallest, smallest+1)
	}
}

// place finds room for the addresses that have none.
func (g *group) place() {
	for i := range g.order {
		ip := g.order[i].ip
		if g.placed[ip] {
			continue
		}
		p := g.room()
		p.members, p.changes, p.gains = append(p.members, ip), true, true
		g.placed[ip] = true
	}
}

// room is a slice with room: one that changes anyway, or the one with most, or a new one.
func (g *group) room() *part {
	var best *part
	for _, p := range g.parts {
		switch {
		case len(p.members) >= maxSliceEndpoints:
		case best == nil, p.changes && !best.changes, p.changes == best.changes && !p.changes && len(p.members) < len(best.members):
			best = p
		}
	}
	if best != nil {
		return best
	}
	free := 0
	for slices.ContainsFunc(g.parts, func(p *part) bool { return p.index == free }) {
		free++
	}
	best = &part{index: free}
	g.parts = append(g.parts, best)
	return best
}

// slices are the parts that have addresses.
func (g *group) slices() []slice {
	family := discoveryv1.AddressTypeIPv6
	if g.order[0].ip.Is4() {
		family = discoveryv1.AddressTypeIPv4
	}
	out := make([]slice, 0, len(g.parts))
	for _, p := range g.parts {
		if len(p.members) == 0 {
			continue
		}
		s := slice{
			name: g.prefix + strconv.Itoa(p.index), family: family, ports: g.order[0].ports.ports, gains: p.gains,
			endpoints: make([]discoveryv1.Endpoint, 0, len(p.members)),
		}
		for _, ip := range p.members {
			s.endpoints = append(s.endpoints, endpoint(g.wanted[ip]))
		}
		out = append(out, s)
	}
	return out
}

// endpoint always states its conditions: to kube-proxy a ready that is not set means ready.
func endpoint(p *publication) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{p.ip.String()},
		Zone:       optional(p.zone),
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(p.ready), Serving: ptr.To(p.ready), Terminating: ptr.To(false)},
	}
}
