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
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// numPriorities is how many there are, from 0 on.
const numPriorities = 10

// failoverInput are what a decision depends on beside the addresses.
type failoverInput struct {
	now time.Time
	// checked says that there is a health check; without one everything counts as healthy.
	checked bool
	// suspect says that health says nothing about the outside now: the priority stays.
	suspect bool
	// minHealthy and panicThreshold are in percent.
	minHealthy, panicThreshold int
	manualFailback             bool
	failbackDelay              time.Duration
	// failbackRequested asks for going back without further delay.
	failbackRequested bool
	// firstProbeGrace is how long an address that was never checked may hold up a failover.
	firstProbeGrace time.Duration
	// lowest is the lowest priority that is configured, whether it has addresses or not.
	lowest int32
	// active is the priority that is published, and panicking whether it is in panic.
	active    *int32
	panicking bool
	// qualifiedSince is when each priority was first seen with enough healthy addresses after it had been
	// seen without. Zero where it never was.
	qualifiedSince [numPriorities]time.Time
}

// decision is what to publish.
type decision struct {
	// active is the priority to publish; nil where there is no address at all.
	active *int32
	// published are its members, and whether each is ready.
	published []publishedAddress
	// panicking says that all are ready, since none is healthy anywhere.
	panicking bool
	// pendingFailback is a lower priority that qualifies and is not gone back to yet.
	pendingFailback *int32
	// awaitsRequest says that it waits for a request, and not for time to pass.
	awaitsRequest bool
	// failbackHandled says that the request to go back was considered, refused that nothing came of it.
	failbackHandled, failbackRefused bool
	// qualified are the priorities that have enough healthy addresses, as bits.
	qualified uint16
	// requeueAt is when to decide again although nothing will have changed. Zero if never.
	requeueAt time.Time
}

// publishedAddress is a member and whether it takes traffic.
type publishedAddress struct {
	*candidate
	ready bool
}

func (d *decision) requeueBy(at time.Time) { d.requeueAt = controller.Earliest(d.requeueAt, at) }

// readyCount is how many publications are.
func (d *decision) readyCount() int {
	n := 0
	for _, p := range d.published {
		if p.ready {
			n++
		}
	}
	return n
}

// decide says what to publish of members, which membersOf has ordered.
func decide(members []candidate, c failoverInput) decision {
	var d decision
	tiers := priorityGroupsOf(members, &c)
	for i := range tiers {
		if t := &tiers[i]; t.qualifies && t.priority >= 0 && t.priority < numPriorities {
			d.qualified |= 1 << t.priority
		}
	}
	d.failbackHandled = c.failbackRequested && !c.suspect
	if len(tiers) == 0 {
		return d
	}
	chosen := &tiers[c.chooseGroup(tiers, &d)]
	d.active = &chosen.priority
	if d.failbackHandled && c.active != nil && *c.active > c.lowest && chosen.priority >= *c.active {
		d.failbackRefused = true
	}
	d.published = make([]publishedAddress, 0, len(chosen.candidates))
	for i := range chosen.candidates {
		m := &chosen.candidates[i]
		d.published = append(d.published, publishedAddress{m, !c.checked || d.panicking || m.health == networkingv1.AddressHealthy})
	}
	return d
}

// chooseGroup returns the index of the tier to publish.
func (c *failoverInput) chooseGroup(tiers []priorityGroup, d *decision) int {
	if !c.checked {
		return 0
	}
	current, best := -1, -1
	for i := range tiers {
		if c.active != nil && tiers[i].priority == *c.active {
			current = i
		}
		if best < 0 && tiers[i].qualifies {
			best = i
		}
	}
	switch {
	case current < 0:
		return c.chooseFirst(tiers, best, d)
	case c.suspect:
		d.panicking = c.panicking && mostHealthy(tiers, current) < 0
		return current
	case mostHealthy(tiers, current) < 0:
		return c.chooseMostHealthy(tiers, current, d)
	case tiers[current].qualifies:
		return c.chooseFailback(tiers, current, d)
	case tiers[current].mayQualify:
		d.requeueBy(tiers[current].pendingUntil)
		return current
	case best >= 0:
		return best
	}
	return c.chooseMostHealthy(tiers, current, d)
}

// chooseFirst chooses where nothing is published yet, or where what was is no longer in the spec. The
// latter waits for no first result as long as some priority is healthy.
func (c *failoverInput) chooseFirst(tiers []priorityGroup, best int, d *decision) int {
	if c.active == nil || best < 0 {
		for i := range tiers {
			if tiers[i].mayQualify && (best < 0 || i < best) {
				d.requeueBy(tiers[i].pendingUntil)
				return i
			}
		}
	}
	switch {
	case c.suspect:
		return max(best, 0)
	case best < 0 || mostHealthy(tiers, 0) < 0:
		return c.chooseMostHealthy(tiers, 0, d)
	}
	return best
}

// chooseFailback leaves a tier that is good for a lower one that has been good for long enough.
func (c *failoverInput) chooseFailback(tiers []priorityGroup, current int, d *decision) int {
	for i := range current {
		t := &tiers[i]
		if !t.qualifies {
			continue
		}
		if c.failbackRequested {
			return i
		}
		if !c.manualFailback {
			due := t.qualifiedSince(c).Add(c.failbackDelay)
			if !c.now.Before(due) {
				return i
			}
			d.requeueBy(due)
		}
		if d.pendingFailback == nil {
			d.pendingFailback, d.awaitsRequest = &t.priority, c.manualFailback
		}
	}
	return current
}

// chooseMostHealthy chooses where no tier qualifies, or none by an address that is healthy: the one with most
// healthy addresses. Where none has any, and the first results are in, either all of the lowest
// priority is published, or the tier stays.
func (c *failoverInput) chooseMostHealthy(tiers []priorityGroup, current int, d *decision) int {
	if most := mostHealthy(tiers, current); most >= 0 {
		return most
	}
	for i := range tiers {
		if tiers[i].pending {
			d.requeueBy(tiers[i].pendingUntil)
			d.panicking = c.panicking
			return current
		}
	}
	if c.panicThreshold > 0 {
		d.panicking = true
		return 0
	}
	return current
}

// priorityGroup is the members of one priority.
type priorityGroup struct {
	priority   int32
	candidates []candidate
	healthy    int
	// qualifies says that enough are healthy, and needed how many that is.
	qualifies bool
	needed    int
	// pending says that first results are still to come, at until at the latest; undecided that the
	// tier does not qualify and would by them.
	pending, mayQualify bool
	pendingUntil        time.Time
}

// priorityGroupsOf cuts members, which are ordered, into tiers from the lowest priority up.
func priorityGroupsOf(members []candidate, c *failoverInput) []priorityGroup {
	tiers := make([]priorityGroup, 0, 2)
	for len(members) > 0 {
		end := 1
		for end < len(members) && members[end].priority == members[0].priority {
			end++
		}
		tiers = append(tiers, newPriorityGroup(members[:end], c))
		members = members[end:]
	}
	return tiers
}

func newPriorityGroup(members []candidate, c *failoverInput) priorityGroup {
	t := priorityGroup{priority: members[0].priority, candidates: members, needed: (len(members)*c.minHealthy + 99) / 100}
	unknown := 0
	for i := range members {
		switch m := &members[i]; {
		case !c.checked || m.health == networkingv1.AddressHealthy:
			t.healthy++
		case m.health == networkingv1.AddressUnhealthy:
		default:
			if until := m.since.Add(c.firstProbeGrace); c.now.Before(until) {
				unknown++
				if until.After(t.pendingUntil) {
					t.pendingUntil = until
				}
			}
		}
	}
	t.qualifies = t.healthy >= t.needed
	t.pending = unknown > 0
	t.mayQualify = !t.qualifies && t.pending && t.healthy+unknown >= t.needed
	return t
}

// qualifiedSince is from when on the tier has had enough healthy addresses without a break, or
// later: since so many of those that are healthy now have been. That can be told after a restart as
// well. What it does not show is a break because addresses came and went, which is remembered.
func (t *priorityGroup) qualifiedSince(c *failoverInput) time.Time {
	var since time.Time
	if t.needed > 0 {
		times := make([]time.Time, 0, t.healthy)
		for i := range t.candidates {
			if t.candidates[i].health == networkingv1.AddressHealthy {
				times = append(times, t.candidates[i].since)
			}
		}
		slices.SortFunc(times, time.Time.Compare)
		since = times[t.needed-1]
	}
	if t.priority >= 0 && t.priority < numPriorities && c.qualifiedSince[t.priority].After(since) {
		since = c.qualifiedSince[t.priority]
	}
	return since
}

// mostHealthy is the tier with most healthy addresses, or -1 where none has any. Of equals it is the
// current one, and else the lowest.
func mostHealthy(tiers []priorityGroup, current int) int {
	most := -1
	if tiers[current].healthy > 0 {
		most = current
	}
	for i := range tiers {
		if tiers[i].healthy > 0 && (most < 0 || tiers[i].healthy > tiers[most].healthy) {
			most = i
		}
	}
	return most
}

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
