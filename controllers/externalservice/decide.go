// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
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
