// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

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
