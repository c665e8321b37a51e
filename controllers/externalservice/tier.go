// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// tier is the members of one priority.
type tier struct {
	priority int32
	members  []member
	healthy  int
	// qualifies says that enough are healthy, and needed how many that is.
	qualifies bool
	needed    int
	// waiting says that first results are still to come, at until at the latest; undecided that the
	// tier does not qualify and would by them.
	waiting, undecided bool
	until              time.Time
}

// tiersOf cuts members, which are ordered, into tiers from the lowest priority up.
func tiersOf(members []member, c *circumstances) []tier {
	tiers := make([]tier, 0, 2)
	for len(members) > 0 {
		end := 1
		for end < len(members) && members[end].priority == members[0].priority {
			end++
		}
		tiers = append(tiers, tierOf(members[:end], c))
		members = members[end:]
	}
	return tiers
}

func tierOf(members []member, c *circumstances) tier {
	t := tier{priority: members[0].priority, members: members, needed: (len(members)*c.minHealthy + 99) / 100}
	unknown := 0
	for i := range members {
		switch m := &members[i]; {
		case !c.checked || m.health == networkingv1.AddressHealthy:
			t.healthy++
		case m.health == networkingv1.AddressUnhealthy:
		default:
			if until := m.since.Add(c.patience); c.now.Before(until) {
				unknown++
				if until.After(t.until) {
					t.until = until
				}
			}
		}
	}
	t.qualifies = t.healthy >= t.needed
	t.waiting = unknown > 0
	t.undecided = !t.qualifies && t.waiting && t.healthy+unknown >= t.needed
	return t
}

// qualifiedSince is from when on the tier has had enough healthy addresses without a break, or
// later: since so many of those that are healthy now have been. That can be told after a restart as
// well. What it does not show is a break because addresses came and went, which is remembered.
func (t *tier) qualifiedSince(c *circumstances) time.Time {
	var since time.Time
	if t.needed > 0 {
		times := make([]time.Time, 0, t.healthy)
		for i := range t.members {
			if t.members[i].health == networkingv1.AddressHealthy {
				times = append(times, t.members[i].since)
			}
		}
		slices.SortFunc(times, time.Time.Compare)
		since = times[t.needed-1]
	}
	if t.priority >= 0 && t.priority < priorities && c.regained[t.priority].After(since) {
		since = c.regained[t.priority]
	}
	return since
}

// healthiest is the tier with most healthy addresses, or -1 where none has any. Of equals it is the
// current one, and else the lowest.
func healthiest(tiers []tier, current int) int {
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
