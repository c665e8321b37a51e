// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// priorities is how many there are, from 0 on.
const priorities = 10

// circumstances are what a decision depends on beside the addresses.
type circumstances struct {
	now time.Time
	// checked says that there is a health check; without one everything counts as healthy.
	checked bool
	// suspect says that health says nothing about the outside now: the priority stays.
	suspect bool
	// minHealthy and panicThreshold are in percent.
	minHealthy, panicThreshold int
	manual                     bool
	failbackDelay              time.Duration
	// requested asks for going back without further delay.
	requested bool
	// patience is how long an address that was never checked may hold up a failover.
	patience time.Duration
	// lowest is the lowest priority that is configured, whether it has addresses or not.
	lowest int32
	// active is the priority that is published, and panicking whether it is in panic.
	active    *int32
	panicking bool
	// regained is when each priority was first seen with enough healthy addresses after it had been
	// seen without. Zero where it never was.
	regained [priorities]time.Time
}

// decision is what to publish.
type decision struct {
	// active is the priority to publish; nil where there is no address at all.
	active *int32
	// publish are its members, and whether each is ready.
	publish []publication
	// panics says that all are ready, since none is healthy anywhere.
	panics bool
	// pending is a lower priority that qualifies and is not gone back to yet.
	pending *int32
	// asks says that it waits for a request, and not for time to pass.
	asks bool
	// handled says that the request to go back was considered, refused that nothing came of it.
	handled, refused bool
	// qualified are the priorities that have enough healthy addresses, as bits.
	qualified uint16
	// again is when to decide again although nothing will have changed. Zero if never.
	again time.Time
}

// publication is a member and whether it takes traffic.
type publication struct {
	*member
	ready bool
}

func (d *decision) look(at time.Time) { d.again = controller.Earliest(d.again, at) }

// ready is how many publications are.
func (d *decision) ready() int {
	n := 0
	for _, p := range d.publish {
		if p.ready {
			n++
		}
	}
	return n
}

// decide says what to publish of members, which membersOf has ordered.
func decide(members []member, c circumstances) decision {
	var d decision
	tiers := tiersOf(members, &c)
	for i := range tiers {
		if t := &tiers[i]; t.qualifies && t.priority >= 0 && t.priority < priorities {
			d.qualified |= 1 << t.priority
		}
	}
	d.handled = c.requested && !c.suspect
	if len(tiers) == 0 {
		return d
	}
	chosen := &tiers[c.choose(tiers, &d)]
	d.active = &chosen.priority
	if d.handled && c.active != nil && *c.active > c.lowest && chosen.priority >= *c.active {
		d.refused = true
	}
	d.publish = make([]publication, 0, len(chosen.members))
	for i := range chosen.members {
		m := &chosen.members[i]
		d.publish = append(d.publish, publication{m, !c.checked || d.panics || m.health == networkingv1.AddressHealthy})
	}
	return d
}

// choose returns the index of the tier to publish.
func (c *circumstances) choose(tiers []tier, d *decision) int {
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
		return c.begin(tiers, best, d)
	case c.suspect:
		d.panics = c.panicking && healthiest(tiers, current) < 0
		return current
	case healthiest(tiers, current) < 0:
		return c.worst(tiers, current, d)
	case tiers[current].qualifies:
		return c.goBack(tiers, current, d)
	case tiers[current].undecided:
		d.look(tiers[current].until)
		return current
	case best >= 0:
		return best
	}
	return c.worst(tiers, current, d)
}

// begin chooses where nothing is published yet, or where what was is no longer in the spec. The
// latter waits for no first result as long as some priority is healthy.
func (c *circumstances) begin(tiers []tier, best int, d *decision) int {
	if c.active == nil || best < 0 {
		for i := range tiers {
			if tiers[i].undecided && (best < 0 || i < best) {
				d.look(tiers[i].until)
				return i
			}
		}
	}
	switch {
	case c.suspect:
		return max(best, 0)
	case best < 0 || healthiest(tiers, 0) < 0:
		return c.worst(tiers, 0, d)
	}
	return best
}

// goBack leaves a tier that is good for a lower one that has been good for long enough.
func (c *circumstances) goBack(tiers []tier, current int, d *decision) int {
	for i := range current {
		t := &tiers[i]
		if !t.qualifies {
			continue
		}
		if c.requested {
			return i
		}
		if !c.manual {
			due := t.qualifiedSince(c).Add(c.failbackDelay)
			if !c.now.Before(due) {
				return i
			}
			d.look(due)
		}
		if d.pending == nil {
			d.pending, d.asks = &t.priority, c.manual
		}
	}
	return current
}

// worst chooses where no tier qualifies, or none by an address that is healthy: the one with most
// healthy addresses. Where none has any, and the first results are in, either all of the lowest
// priority is published, or the tier stays.
func (c *circumstances) worst(tiers []tier, current int, d *decision) int {
	if most := healthiest(tiers, current); most >= 0 {
		return most
	}
	for i := range tiers {
		if tiers[i].waiting {
			d.look(tiers[i].until)
			d.panics = c.panicking
			return current
		}
	}
	if c.panicThreshold > 0 {
		d.panics = true
		return 0
	}
	return current
}
