// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
)

// maxSliceEndpoints limits the addresses of one EndpointSlice, as kube-controller-manager's
// --max-endpoints-per-slice does by default.
const maxSliceEndpoints = 100

// Wanted returns the slices of an object, as Pack does, with what its Service wants in them as Kubernetes' own controller of
// EndpointSlices has it: a hint for the zone of each endpoint with trafficDistribution, and every address as ready with
// publishNotReadyAddresses. Then serving alone has its health.
func Wanted(es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, publish []failover.Published) []Slice {
	all := Pack(es.Name, current, publish)
	hasHints, isShown := es.Spec.Service.TrafficDistribution != nil, ptr.Deref(es.Spec.Service.PublishNotReadyAddresses, false)
	for i := range all {
		for j := range all[i].Endpoints {
			e := &all[i].Endpoints[j]
			if hasHints && e.Zone != nil {
				e.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: *e.Zone}}}
			}
			if isShown {
				e.Conditions.Ready = ptr.To(true)
			}
		}
	}
	return all
}

// Pack returns the slices that published addresses need. An EndpointSlice has one family and one set of
// ports. An address stays in its slice: the proxy of every node reads every slice that changes. New addresses
// go into slices with room, first into those that change anyway.
//
// Slices with new addresses come first, so that an address that moves is always in one. Slices of current that
// are not returned are to be deleted.
func Pack(name string, current []*discoveryv1.EndpointSlice, publish []failover.Published) []Slice {
	var out []Slice
	names := map[string]bool{}
	for len(publish) > 0 {
		// Candidates are ordered by ports and then by address, IPv4 first.
		first, end := &publish[0], 1
		for end < len(publish) && publish[end].Ports.Digest == first.Ports.Digest && publish[end].IP.Is4() == first.IP.Is4() {
			end++
		}
		g := newGroup(name, publish[:end], names)
		g.keepPlaced(current)
		g.consolidate()
		g.placeNew()
		out = append(out, g.slices()...)
		publish = publish[end:]
	}
	slices.SortStableFunc(out, func(a, b Slice) int {
		switch {
		case a.hasNew && !b.hasNew:
			return -1
		case b.hasNew && !a.hasNew:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// sliceGroup is the addresses that may share slices.
type sliceGroup struct {
	prefix  string
	wanted  map[netip.Addr]*failover.Published
	placed  map[netip.Addr]bool
	order   []failover.Published
	planned []*plannedSlice
}

// plannedSlice is a slice of a group.
type plannedSlice struct {
	index     int
	addresses []netip.Addr
	// changed means that the slice is written anyway, and hasNew that an address is new to it.
	changed, hasNew bool
}

// newGroup names the slices of a group by the short digest of their ports. names are the prefixes in use: of
// two groups with the same short digest the second has the long one.
func newGroup(name string, publish []failover.Published, names map[string]bool) *sliceGroup {
	family := "ipv6"
	if publish[0].IP.Is4() {
		family = "ipv4"
	}
	prefix := name + "-" + family + "-" + publish[0].Ports.ShortDigest + "-"
	if names[prefix] {
		prefix = name + "-" + family + "-" + publish[0].Ports.Digest + "-"
	}
	names[prefix] = true
	g := &sliceGroup{
		prefix: prefix,
		wanted: make(map[netip.Addr]*failover.Published, len(publish)),
		placed: make(map[netip.Addr]bool, len(publish)),
		order:  publish,
	}
	for i := range publish {
		g.wanted[publish[i].IP] = &publish[i]
	}
	return g
}

// keepPlaced keeps the addresses of current slices that are still wanted. Two slices may have the same address
// for a moment; which of them keeps it must not depend on the order of the cache.
func (g *sliceGroup) keepPlaced(current []*discoveryv1.EndpointSlice) {
	found := map[*plannedSlice]*discoveryv1.EndpointSlice{}
	for _, c := range current {
		suffix, ours := strings.CutPrefix(c.Name, g.prefix)
		index, err := strconv.Atoi(suffix)
		if ours && err == nil && index >= 0 && strconv.Itoa(index) == suffix {
			planned := &plannedSlice{index: index}
			found[planned] = c
			g.planned = append(g.planned, planned)
		}
	}
	slices.SortFunc(g.planned, func(a, b *plannedSlice) int { return cmp.Compare(a.index, b.index) })
	for _, planned := range g.planned {
		for i := range found[planned].Endpoints {
			e := &found[planned].Endpoints[i]
			ip, err := netip.ParseAddr(e.Addresses[0])
			want := g.wanted[ip]
			if err != nil || want == nil || g.placed[ip] || len(planned.addresses) == maxSliceEndpoints {
				planned.changed = true
				continue
			}
			g.placed[ip] = true
			planned.addresses = append(planned.addresses, ip)
			planned.changed = planned.changed || endpoints.IsReady(e) != want.IsReady
		}
	}
}

// consolidate drops the smallest slices while there are more than twice as many as needed: a few addresses
// must not stay spread over many slices.
func (g *sliceGroup) consolidate() {
	needed := (len(g.order) + maxSliceEndpoints - 1) / maxSliceEndpoints
	for len(g.planned) > 2*needed {
		smallest := 0
		for i, planned := range g.planned {
			if len(planned.addresses) <= len(g.planned[smallest].addresses) {
				smallest = i
			}
		}
		for _, ip := range g.planned[smallest].addresses {
			g.placed[ip] = false
		}
		g.planned = slices.Delete(g.planned, smallest, smallest+1)
	}
}

// placeNew places the addresses that are in no slice.
func (g *sliceGroup) placeNew() {
	for i := range g.order {
		ip := g.order[i].IP
		if g.placed[ip] {
			continue
		}
		p := g.sliceWithRoom()
		p.addresses, p.changed, p.hasNew = append(p.addresses, ip), true, true
		g.placed[ip] = true
	}
}

// sliceWithRoom returns one that changes anyway, or else the one with most room, or a new one.
func (g *sliceGroup) sliceWithRoom() *plannedSlice {
	var best *plannedSlice
	for _, planned := range g.planned {
		switch {
		case len(planned.addresses) >= maxSliceEndpoints:
		case best == nil, planned.changed && !best.changed, planned.changed == best.changed && !planned.changed &&
			len(planned.addresses) < len(best.addresses):
			best = planned
		}
	}
	if best != nil {
		return best
	}
	free := 0
	for slices.ContainsFunc(g.planned, func(planned *plannedSlice) bool { return planned.index == free }) {
		free++
	}
	best = &plannedSlice{index: free}
	g.planned = append(g.planned, best)
	return best
}

// slices returns the planned slices that have addresses.
func (g *sliceGroup) slices() []Slice {
	family := discoveryv1.AddressTypeIPv6
	if g.order[0].IP.Is4() {
		family = discoveryv1.AddressTypeIPv4
	}
	out := make([]Slice, 0, len(g.planned))
	for _, planned := range g.planned {
		if len(planned.addresses) == 0 {
			continue
		}
		s := Slice{
			Name: g.prefix + strconv.Itoa(planned.index), Family: family, Ports: g.order[0].Ports.Ports, hasNew: planned.hasNew,
			Endpoints: make([]discoveryv1.Endpoint, 0, len(planned.addresses)),
		}
		for _, ip := range planned.addresses {
			s.Endpoints = append(s.Endpoints, sliceEndpoint(g.wanted[ip]))
		}
		out = append(out, s)
	}
	return out
}

// sliceEndpoint sets all conditions: to kube-proxy a ready that is not set means ready.
func sliceEndpoint(p *failover.Published) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{
		Addresses:  []string{p.IP.String()},
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(p.IsReady), Serving: ptr.To(p.IsReady), Terminating: ptr.To(false)},
	}
	if p.Zone != "" {
		e.Zone = &p.Zone
	}
	return e
}
