// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"slices"

	"k8s.io/utils/ptr"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

// maxAddresses is how many addresses v1 allows in one endpoint.
const maxAddresses = 100

// run is a range of the edited hosts that becomes one endpoint: origin is the index of the
// saved endpoint that it continues, or -1 for a new one. A split run continues only a part of it.
type run struct {
	origin    int
	split     bool
	dns       *string
	addresses []v1.IPAddress
}

// overlayHosts applies the edited hosts to the saved endpoints. A host keeps its endpoint wherever it is moved;
// a host that replaces another gets its endpoint; addresses of one endpoint remain together as long as they are
// adjacent.
func overlayHosts(spec *v1.ExternalServiceSpec, before, after *v1alpha1.ExternalServiceSpec) {
	edited := !slices.Equal(before.Hosts, after.Hosts)
	if edited {
		spec.Endpoints = rebuildEndpoints(spec.Endpoints, after.Hosts)
	}
	switch {
	case after.Probe == nil && (edited || before.Probe != nil):
		// The order of the priorities goes over into that of the list.
		slices.SortStableFunc(spec.Endpoints, func(a, b v1.Endpoint) int { return cmp.Compare(priority(&a), priority(&b)) })
		for i := range spec.Endpoints {
			spec.Endpoints[i].Priority = nil
		}
	case after.Probe != nil && before.Probe == nil:
		for i := range spec.Endpoints {
			spec.Endpoints[i].Priority = ptr.To(int32(min(i, lowestPriority)))
		}
	}
}

// rebuildEndpoints returns the endpoints whose view is the given hosts.
func rebuildEndpoints(saved []v1.Endpoint, after []string) []v1.Endpoint {
	var (
		before  []string
		origins []int
	)
	for origin, host := range byPriority(saved) {
		before, origins = append(before, host), append(origins, origin)
	}
	runs := splitRuns(after, matchHosts(before, after), origins)

	if inOldOrder(runs, origins) {
		// Only removals and replacements: the list keeps its own order, which may differ from that of
		// the priorities.
		byOrigin := make(map[int]run, len(runs))
		for _, r := range runs {
			byOrigin[r.origin] = r
		}
		var kept []v1.Endpoint
		for i := range saved {
			if r, stays := byOrigin[i]; stays {
				kept = append(kept, r.applyTo(saved[i]))
			}
		}
		return kept
	}

	used := make(map[string]bool, len(runs))
	for _, r := range runs {
		if r.origin >= 0 && !r.split {
			used[saved[r.origin].Name] = true
		}
	}
	out := make([]v1.Endpoint, 0, len(runs))
	for i, r := range runs {
		endpoint := v1.Endpoint{}
		if r.origin >= 0 {
			endpoint = saved[r.origin]
			endpoint.Addresses = nil // the run brings its own: copying all for each run would take their square
			endpoint = *endpoint.DeepCopy()
		}
		if r.origin < 0 || r.split {
			endpoint.Name = freeName(i, used)
		}
		out = append(out, r.applyTo(endpoint))
	}
	prioritize(out, runs)
	return restoreOrder(saved, out, runs, after)
}

// restoreOrder returns existing endpoints in their old order, followed by new ones, if their priorities alone
// result in the given hosts: an edit that is undone then changes nothing.
func restoreOrder(saved, out []v1.Endpoint, runs []run, after []string) []v1.Endpoint {
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(runs[a].oldIndex(len(saved)), runs[b].oldIndex(len(saved))) })
	placed := make([]v1.Endpoint, len(out))
	for i, from := range order {
		placed[i] = out[from]
	}
	shown := 0
	for _, host := range byPriority(placed) {
		if shown == len(after) || host != after[shown] {
			return out
		}
		shown++
	}
	return placed
}

// oldIndex returns the old index of the endpoint of a run, or saved for a new one.
func (r run) oldIndex(saved int) int {
	if r.origin < 0 || r.split {
		return saved
	}
	return r.origin
}

// matchHosts returns for every host of after the index of the host of before that it continues, or -1:
// the same text first, at any index, and then the one that it replaces.
func matchHosts(before, after []string) []int {
	waiting := make(map[string][]int, len(before))
	for i, host := range before {
		waiting[host] = append(waiting[host], i)
	}
	matched, gone := make([]int, len(after)), make([]bool, len(before))
	for i := range gone {
		gone[i] = true
	}
	for j, host := range after {
		matched[j] = -1
		if queue := waiting[host]; len(queue) > 0 {
			matched[j], waiting[host] = queue[0], queue[1:]
			gone[queue[0]] = false
		}
	}
	replace := func(j, i int) {
		if matched[j] < 0 && i >= 0 && i < len(before) && gone[i] {
			matched[j], gone[i] = i, false
		}
	}
	for j := range after {
		switch {
		case j == 0:
			replace(j, 0)
		case matched[j-1] >= 0:
			replace(j, matched[j-1]+1)
		}
	}
	for j := len(after) - 1; j >= 0; j-- {
		switch {
		case j == len(after)-1:
			replace(j, len(before)-1)
		case matched[j+1] >= 0:
			replace(j, matched[j+1]-1)
		}
	}
	return matched
}

// splitRuns splits the hosts into endpoints.
func splitRuns(after []string, matched, origins []int) []run {
	// following is the endpoint of the next host that had one, to decide whether a new address is between
	// those of one endpoint.
	following := make([]int, len(after))
	next := -1
	for j := len(after) - 1; j >= 0; j-- {
		following[j] = next
		if matched[j] >= 0 {
			next = origins[matched[j]]
		}
	}

	var runs []run
	started := map[int]bool{}
	for j, host := range after {
		origin := -1
		if matched[j] >= 0 {
			origin = origins[matched[j]]
		}
		address := isAddress(host)
		if address && len(runs) > 0 {
			last := &runs[len(runs)-1]
			between := origin < 0 && last.origin == following[j]
			if last.origin >= 0 && last.dns == nil && len(last.addresses) < maxAddresses && (last.origin == origin || between) {
				last.addresses = append(last.addresses, v1.IPAddress(host))
				continue
			}
		}
		r := run{origin: origin, split: origin >= 0 && started[origin]}
		started[origin] = true
		if address {
			r.addresses = []v1.IPAddress{v1.IPAddress(host)}
		} else {
			r.dns = &host
		}
		runs = append(runs, r)
	}
	return runs
}

// inOldOrder reports whether every run continues an endpoint of its own, in the old order.
func inOldOrder(runs []run, origins []int) bool {
	index := make(map[int]int, len(origins))
	for i, origin := range origins {
		index[origin] = i
	}
	last := -1
	for _, r := range runs {
		if r.origin < 0 || r.split || index[r.origin] < last {
			return false
		}
		last = index[r.origin]
	}
	return true
}

// applyTo returns the endpoint with the hosts of the run.
func (r run) applyTo(endpoint v1.Endpoint) v1.Endpoint {
	if r.dns == nil {
		endpoint.DNS, endpoint.Addresses = nil, r.addresses
		return endpoint
	}
	dns := ptr.Deref(endpoint.DNS, v1.DNSName{})
	dns.Name = *r.dns
	endpoint.DNS, endpoint.Addresses = &dns, nil
	return endpoint
}

func freeName(i int, used map[string]bool) string {
	for used[hostName(i)] {
		i++
	}
	used[hostName(i)] = true
	return hostName(i)
}

// prioritize sets priorities in the order of the endpoints, which is that of failover. Existing endpoints keep
// their priorities as a set, so that several endpoints of one priority remain together. A new one gets a
// priority of its own, which increases later ones where they conflict, unless it is between endpoints of one
// priority.
func prioritize(endpoints []v1.Endpoint, runs []run) {
	var had []int32
	for i, r := range runs {
		if r.origin >= 0 {
			had = append(had, priority(&endpoints[i]))
		}
	}
	slices.Sort(had)
	current, previous, known := int32(-1), int32(-1), 0
	for i, r := range runs {
		switch within := known > 0 && known < len(had) && had[known] == previous; {
		case r.origin < 0 && !within:
			current++
		case r.origin >= 0:
			if !within {
				previous, current = had[known], max(had[known], current+1)
			}
			known++
		}
		endpoints[i].Priority = ptr.To(min(current, lowestPriority))
	}
}
