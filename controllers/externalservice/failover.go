// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// defaultFailbackDelay is that of a spec without a failover block.
const defaultFailbackDelay = 5 * time.Minute

// failoverInput is what a decision depends on beside the candidates.
type failoverInput struct {
	now time.Time
	// checked is whether there is a health check; without one every address counts as healthy.
	checked bool
	// suspect means that the results of checks cannot be trusted now: the active priority stays.
	suspect bool
	// minHealthy and panicThreshold are in percent.
	minHealthy, panicThreshold int
	manualFailback             bool
	failbackDelay              time.Duration
	// failbackRequested skips failbackDelay.
	failbackRequested bool
	// firstProbeGrace is how long a failover waits for the first check of an address.
	firstProbeGrace time.Duration
	// lowest is the lowest priority that is configured, whether it has addresses or not.
	lowest int32
	// active is the priority that is published, and panicking whether all of it is published as ready
	// although no address is healthy.
	active    *int32
	panicking bool
	// qualifiedSince is when each priority was first seen with enough healthy addresses after it had been
	// seen without. Zero means never.
	qualifiedSince [endpoints.NumPriorities]time.Time
}

// failoverInput collects what a decision depends on. The spec has its defaults.
func (r *Reconciler) failoverInput(es *networkingv1.ExternalService, o *observation, state *objectState) failoverInput {
	if state.handledFailback == "" {
		state.handledFailback = es.Status.LastHandledFailback
	}
	request := failbackRequest(es)
	in := failoverInput{
		now: r.Now(), checked: es.Spec.HealthCheck != nil, suspect: o.suspect, minHealthy: 1,
		failbackRequested: request != "" && request != state.handledFailback,
		lowest:            lowestPriority(o.endpoints), active: state.active, panicking: state.panicking,
		qualifiedSince: state.qualifiedSinceAt(r.Now()),
	}
	if in.checked {
		in.firstProbeGrace = firstProbeGrace(es.Spec.HealthCheck)
	}
	if f := es.Spec.Failover; f != nil {
		in.minHealthy, in.panicThreshold = int(*f.MinHealthyPercent), int(*f.PanicThresholdPercent)
		in.manualFailback = *f.Failback == networkingv1.FailbackManual
		in.failbackDelay = f.FailbackDelay.Or(defaultFailbackDelay)
	} else {
		in.failbackDelay = defaultFailbackDelay
	}
	return in
}

// maxRequest limits the annotation that requests a failback, in bytes, as the API limits the field of the
// status.
const maxRequest = 256

// failbackRequest returns the annotation that requests a failback.
func failbackRequest(es *networkingv1.ExternalService) string {
	return text.Truncate(es.Annotations[networkingv1.FailbackRequestedAnnotation], maxRequest)
}

// lowestPriority returns the lowest priority that has an endpoint which is not drained.
func lowestPriority(endpoints []endpoints.Endpoint) int32 {
	lowest := int32(-1)
	for i := range endpoints {
		if e := &endpoints[i]; !e.IsDrained && (lowest < 0 || e.Priority < lowest) {
			lowest = e.Priority
		}
	}
	return max(lowest, 0)
}

// decision is what to publish.
type decision struct {
	// active is the priority to publish; nil where there is no address.
	active *int32
	// published are the candidates of that priority.
	published []publishedAddress
	// outgoing are addresses that are ready and not among these, and stay so until their successors are checked.
	outgoing []publishedAddress
	// panicking means that all are ready, since no address of any priority is healthy.
	panicking bool
	// pendingFailback is a more preferred priority that qualifies and is not active yet. awaitsRequest means that it
	// waits for a request, and not for failbackDelay.
	pendingFailback *int32
	awaitsRequest   bool
	// failbackHandled means that the request to fail back was considered.
	failbackHandled bool
	// qualified are the priorities that have enough healthy addresses, as bits.
	qualified uint16
	// requeueAt is when time alone changes the decision. Zero means never.
	requeueAt time.Time
}

// publishedAddress is a candidate and whether it is published as ready.
type publishedAddress struct {
	*candidate
	ready bool
}

func (d *decision) requeueBy(at time.Time) { d.requeueAt = controller.Earliest(d.requeueAt, at) }

func (d *decision) readyCount() int {
	n := 0
	for _, p := range d.published {
		if p.ready {
			n++
		}
	}
	return n
}

// decide returns what to publish of candidates in the order of candidatesOf.
func decide(candidates []candidate, in failoverInput) decision {
	var d decision
	groups := priorityGroupsOf(candidates, &in)
	for i := range groups {
		if g := &groups[i]; g.qualifies && g.priority >= 0 && g.priority < endpoints.NumPriorities {
			d.qualified |= 1 << g.priority
		}
	}
	d.failbackHandled = in.failbackRequested && !in.suspect
	if len(groups) == 0 {
		return d
	}
	chosen := &groups[in.chooseGroup(groups, &d)]
	d.active = &chosen.priority
	d.published = make([]publishedAddress, 0, len(chosen.candidates))
	for i := range chosen.candidates {
		c := &chosen.candidates[i]
		d.published = append(d.published, publishedAddress{c, !in.checked || d.panicking || c.health == networkingv1.AddressHealthy})
	}
	return d
}

// chooseGroup returns the index of the group to publish.
func (in *failoverInput) chooseGroup(groups []priorityGroup, d *decision) int {
	if !in.checked {
		return 0
	}
	current, best := -1, -1
	for i := range groups {
		if in.active != nil && groups[i].priority == *in.active {
			current = i
		}
		if best < 0 && groups[i].qualifies {
			best = i
		}
	}
	switch {
	case current < 0:
		return in.chooseFirst(groups, best, d)
	case in.suspect:
		d.panicking = in.panicking && mostHealthy(groups, current) < 0
		return current
	case mostHealthy(groups, current) < 0:
		return in.chooseMostHealthy(groups, current, d)
	case groups[current].qualifies:
		return in.chooseFailback(groups, current, d)
	case groups[current].mayQualify:
		d.requeueBy(groups[current].pendingUntil)
		return current
	case best >= 0:
		return best
	}
	return in.chooseMostHealthy(groups, current, d)
}

// chooseFirst chooses where nothing is published yet, or the active priority is no longer in the spec. The
// latter does not wait for first results while some priority qualifies.
func (in *failoverInput) chooseFirst(groups []priorityGroup, best int, d *decision) int {
	if in.active == nil || best < 0 {
		for i := range groups {
			if groups[i].mayQualify && (best < 0 || i < best) {
				d.requeueBy(groups[i].pendingUntil)
				return i
			}
		}
	}
	switch {
	case in.suspect:
		return max(best, 0)
	case best < 0 || mostHealthy(groups, 0) < 0:
		return in.chooseMostHealthy(groups, 0, d)
	}
	return best
}

// chooseFailback chooses between the active group, which qualifies, and a lower one that has qualified for
// failbackDelay.
func (in *failoverInput) chooseFailback(groups []priorityGroup, current int, d *decision) int {
	for i := range current {
		g := &groups[i]
		if !g.qualifies {
			continue
		}
		if in.failbackRequested {
			return i
		}
		if !in.manualFailback {
			due := g.qualifiedSince(in).Add(in.failbackDelay)
			if !in.now.Before(due) {
				return i
			}
			d.requeueBy(due)
		}
		if d.pendingFailback == nil {
			d.pendingFailback, d.awaitsRequest = &g.priority, in.manualFailback
		}
	}
	return current
}

// chooseMostHealthy chooses where no group qualifies, or only without a healthy address: the one with most
// healthy addresses. Where none has any and the first results are in, it is the lowest one under a panic
// threshold, and else the current one.
func (in *failoverInput) chooseMostHealthy(groups []priorityGroup, current int, d *decision) int {
	if most := mostHealthy(groups, current); most >= 0 {
		return most
	}
	for i := range groups {
		if groups[i].pending {
			d.requeueBy(groups[i].pendingUntil)
			d.panicking = in.panicking
			return current
		}
	}
	if in.panicThreshold > 0 {
		d.panicking = true
		return 0
	}
	return current
}

// priorityGroup is the candidates of one priority.
type priorityGroup struct {
	priority   int32
	candidates []candidate
	healthy    int
	// qualifies means that at least needed of them are healthy.
	qualifies bool
	needed    int
	// pending means that first results are awaited, until pendingUntil; mayQualify that the group does not
	// qualify, and would if these were successes.
	pending, mayQualify bool
	pendingUntil        time.Time
}

// priorityGroupsOf splits ordered candidates by priority, the lowest first.
func priorityGroupsOf(candidates []candidate, in *failoverInput) []priorityGroup {
	groups := make([]priorityGroup, 0, 2)
	for len(candidates) > 0 {
		end := 1
		for end < len(candidates) && candidates[end].priority == candidates[0].priority {
			end++
		}
		groups = append(groups, newPriorityGroup(candidates[:end], in))
		candidates = candidates[end:]
	}
	return groups
}

func newPriorityGroup(all []candidate, in *failoverInput) priorityGroup {
	g := priorityGroup{priority: all[0].priority, candidates: all, needed: (len(all)*in.minHealthy + 99) / 100}
	unknown := 0
	for i := range all {
		switch c := &all[i]; {
		case !in.checked || c.health == networkingv1.AddressHealthy:
			g.healthy++
		case c.health == networkingv1.AddressUnhealthy:
		default:
			if until := c.since.Add(in.firstProbeGrace); in.now.Before(until) {
				unknown++
				if until.After(g.pendingUntil) {
					g.pendingUntil = until
				}
			}
		}
	}
	g.qualifies = g.healthy >= g.needed
	g.pending = unknown > 0
	g.mayQualify = !g.qualifies && g.pending && g.healthy+unknown >= g.needed
	return g
}

// qualifiedSince returns since when the group has had enough healthy addresses, or a later time: since when
// that many of those that are healthy now have been. That is known after a restart, too. A break because
// addresses came and went does not show in it, so that in.qualifiedSince counts as well.
func (g *priorityGroup) qualifiedSince(in *failoverInput) time.Time {
	var since time.Time
	if g.needed > 0 {
		times := make([]time.Time, 0, g.healthy)
		for i := range g.candidates {
			if g.candidates[i].health == networkingv1.AddressHealthy {
				times = append(times, g.candidates[i].since)
			}
		}
		slices.SortFunc(times, time.Time.Compare)
		since = times[g.needed-1]
	}
	if g.priority >= 0 && g.priority < endpoints.NumPriorities && in.qualifiedSince[g.priority].After(since) {
		since = in.qualifiedSince[g.priority]
	}
	return since
}

// mostHealthy returns the index of the group with most healthy addresses, or -1 where none has any. Of
// equals it is the current one, or else the lowest.
func mostHealthy(groups []priorityGroup, current int) int {
	most := -1
	if groups[current].healthy > 0 {
		most = current
	}
	for i := range groups {
		if groups[i].healthy > 0 && (most < 0 || groups[i].healthy > groups[most].healthy) {
			most = i
		}
	}
	return most
}
