// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
)

// defaultFailbackDelay applies to a spec without a failover block.
const defaultFailbackDelay = 5 * time.Minute

// criteria holds what a decision depends on, besides the candidates.
type criteria struct {
	now time.Time
	// isChecked means that there is a health check. Without one, every address counts as healthy.
	isChecked bool
	// isSuspect means that the results of checks cannot be trusted now: the active priority stays.
	isSuspect bool
	// minHealthy and panicThreshold are in percent.
	minHealthy, panicThreshold int
	manualFailback             bool
	failbackDelay              time.Duration
	// failbackRequested skips failbackDelay.
	failbackRequested bool
	// firstProbeGrace is how long a failover waits for the first check of an address.
	firstProbeGrace time.Duration
	// active is the priority that is published, and isPanicking whether all of it is published as ready
	// although no address is healthy.
	active      *int32
	isPanicking bool
	// qualifiedSince is when each priority was first seen with enough healthy addresses after it had been
	// seen without. Zero means never.
	qualifiedSince [endpoints.NumPriorities]time.Time
}

// criteriaOf returns what the choice for an object depends on.
func (s *State) criteriaOf(in *Input) criteria {
	if s.HandledFailback == "" {
		s.HandledFailback = in.Object.Status.HandledFailbackNow
	}
	spec := &in.Object.Spec
	c := criteria{
		now: in.Now, isChecked: spec.HealthCheck != nil, isSuspect: in.Observed.IsSuspect, minHealthy: 1,
		failbackRequested: requests.New(in.Object, networkingv1.FailbackNowAnnotation, s.HandledFailback) != "",
		failbackDelay:     defaultFailbackDelay,
		active:            s.Active, isPanicking: s.isPanicking, qualifiedSince: s.qualifiedSinceAt(in.Now),
	}
	if c.isChecked {
		c.firstProbeGrace = FirstProbeGrace(spec.HealthCheck)
	}
	if f := spec.Failover; f != nil {
		c.minHealthy, c.panicThreshold = int(*f.MinHealthyPercent), int(*f.PanicThresholdPercent)
		c.manualFailback = *f.Failback == networkingv1.FailbackManual
		c.failbackDelay = f.FailbackDelay.Or(defaultFailbackDelay)
	}
	return c
}

// FirstProbeGrace returns how long a decision waits for the first check of an address: by then its result is
// in.
func FirstProbeGrace(h *networkingv1.HealthCheck) time.Duration {
	return h.Interval.Or(0) + h.Timeout.Or(0)
}

// LowestPriority returns the lowest priority that has an endpoint which is not drained.
func LowestPriority(all []endpoints.Endpoint) int32 {
	lowest := int32(-1)
	for i := range all {
		if e := &all[i]; !e.IsDrained && (lowest < 0 || e.Priority < lowest) {
			lowest = e.Priority
		}
	}
	return max(lowest, 0)
}

// Choice is a priority and the addresses to publish.
type Choice struct {
	// Active is the priority to publish; nil where there is no address.
	Active *int32
	// Published are the candidates of that priority.
	Published []Published
	// Outgoing are addresses that are ready and not among these, and stay so until their successors are checked.
	Outgoing []Published
	// IsPanicking means that all are ready, since no address of any priority is healthy.
	IsPanicking bool
	// PendingFailback is a more preferred priority that qualifies and is not active yet. AwaitsRequest means that it
	// waits for a request, and not for failbackDelay.
	PendingFailback *int32
	AwaitsRequest   bool
	// Cause is why Active is another priority than before, as a reason of a change; it means nothing where it is not.
	Cause string
	// failbackHandled means that the request to fail back was considered.
	failbackHandled bool
	// qualified are the priorities that have enough healthy addresses, as bits.
	qualified uint16
	// RequeueAt is when time alone changes the choice. Zero means never.
	RequeueAt time.Time
}

// Published is a candidate and whether it is published as ready.
type Published struct {
	*Candidate
	IsReady bool
	// IsOutgoing means that its ports are those that it has in slices, and not those of the spec.
	IsOutgoing bool
}

func (c *Choice) requeueBy(at time.Time) { c.RequeueAt = controller.Earliest(c.RequeueAt, at) }

// ReadyCount returns how many of the published addresses are ready.
func (c *Choice) ReadyCount() int {
	n := 0
	for _, p := range c.Published {
		if p.IsReady {
			n++
		}
	}
	return n
}

// choose returns what to publish of candidates in the order of candidatesOf.
func choose(candidates []Candidate, in criteria) Choice {
	var d Choice
	groups := priorityGroupsOf(candidates, &in)
	for i := range groups {
		if g := &groups[i]; g.qualifies && g.priority >= 0 && g.priority < endpoints.NumPriorities {
			d.qualified |= 1 << g.priority
		}
	}
	d.failbackHandled = in.failbackRequested && !in.isSuspect
	if len(groups) == 0 {
		return d
	}
	chosen := &groups[in.chooseGroup(groups, &d)]
	d.Active = &chosen.priority
	d.Published = make([]Published, 0, len(chosen.candidates))
	for i := range chosen.candidates {
		c := &chosen.candidates[i]
		isReady := !in.isChecked || d.IsPanicking || c.Health == networkingv1.AddressHealthy
		d.Published = append(d.Published, Published{Candidate: c, IsReady: isReady})
	}
	return d
}

// chooseGroup returns the index of the group to publish.
func (c *criteria) chooseGroup(groups []priorityGroup, d *Choice) int {
	if !c.isChecked {
		d.Cause = networkingv1.ReasonNoHealthCheck
		return 0
	}
	d.Cause = networkingv1.ReasonPriorityUnhealthy
	current, best := -1, -1
	for i := range groups {
		if c.active != nil && groups[i].priority == *c.active {
			current = i
		}
		if best < 0 && groups[i].qualifies {
			best = i
		}
	}
	switch {
	case current < 0:
		d.Cause = networkingv1.ReasonPriorityRemoved
		return c.chooseFirst(groups, best, d)
	case c.isSuspect:
		d.IsPanicking = c.isPanicking && mostHealthy(groups, current) < 0
		return current
	case mostHealthy(groups, current) < 0:
		return c.chooseMostHealthy(groups, current, d)
	case groups[current].qualifies:
		return c.chooseFailback(groups, current, d)
	case c.failbackRequested && best >= 0 && best < current:
		d.Cause = networkingv1.ReasonFailbackRequested
		return best
	case groups[current].mayQualify:
		d.requeueBy(groups[current].pendingUntil)
		return current
	case best >= 0:
		return best
	}
	return c.chooseMostHealthy(groups, current, d)
}

// chooseFirst chooses where nothing is published yet, or the active priority is no longer in the spec. The
// latter does not wait for first results while some priority qualifies.
func (c *criteria) chooseFirst(groups []priorityGroup, best int, d *Choice) int {
	if c.active == nil || best < 0 {
		for i := range groups {
			if groups[i].mayQualify && (best < 0 || i < best) {
				d.requeueBy(groups[i].pendingUntil)
				return i
			}
		}
	}
	switch {
	case c.isSuspect:
		return max(best, 0)
	case best < 0 || mostHealthy(groups, 0) < 0:
		return c.chooseMostHealthy(groups, 0, d)
	}
	return best
}

// chooseFailback chooses between the active group, which qualifies, and a lower one that has qualified for
// failbackDelay.
func (c *criteria) chooseFailback(groups []priorityGroup, current int, d *Choice) int {
	for i := range current {
		g := &groups[i]
		if !g.qualifies {
			continue
		}
		if c.failbackRequested {
			d.Cause = networkingv1.ReasonFailbackRequested
			return i
		}
		if !c.manualFailback {
			due := g.qualifiedSince(c).Add(c.failbackDelay)
			if !c.now.Before(due) {
				d.Cause = networkingv1.ReasonPriorityRecovered
				return i
			}
			d.requeueBy(due)
		}
		if d.PendingFailback == nil {
			d.PendingFailback, d.AwaitsRequest = &g.priority, c.manualFailback
		}
	}
	return current
}

// chooseMostHealthy chooses where no group qualifies, or only without a healthy address: the one with most
// healthy addresses. Where none has any and the first results are in, it is the lowest one under a panic
// threshold, and else the current one.
func (c *criteria) chooseMostHealthy(groups []priorityGroup, current int, d *Choice) int {
	if most := mostHealthy(groups, current); most >= 0 {
		return most
	}
	for i := range groups {
		if groups[i].pending {
			d.requeueBy(groups[i].pendingUntil)
			d.IsPanicking = c.isPanicking
			return current
		}
	}
	if c.panicThreshold > 0 {
		d.IsPanicking = true
		return 0
	}
	return current
}

// priorityGroup is the candidates of one priority.
type priorityGroup struct {
	priority   int32
	candidates []Candidate
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
func priorityGroupsOf(candidates []Candidate, in *criteria) []priorityGroup {
	groups := make([]priorityGroup, 0, 2)
	for len(candidates) > 0 {
		end := 1
		for end < len(candidates) && candidates[end].Priority == candidates[0].Priority {
			end++
		}
		groups = append(groups, newPriorityGroup(candidates[:end], in))
		candidates = candidates[end:]
	}
	return groups
}

func newPriorityGroup(all []Candidate, in *criteria) priorityGroup {
	g := priorityGroup{priority: all[0].Priority, candidates: all, needed: (len(all)*in.minHealthy + 99) / 100}
	unknown := 0
	for i := range all {
		switch c := &all[i]; {
		case !in.isChecked || c.Health == networkingv1.AddressHealthy:
			g.healthy++
		case c.Health == networkingv1.AddressUnhealthy:
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
func (g *priorityGroup) qualifiedSince(in *criteria) time.Time {
	var since time.Time
	if g.needed > 0 {
		times := make([]time.Time, 0, g.healthy)
		for i := range g.candidates {
			if g.candidates[i].Health == networkingv1.AddressHealthy {
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

// InForce returns a choice as far as slices show it (published). Its priority is the one before until an address of another
// is published.
func (s *State) InForce(in *Input, c *Choice, published map[endpoints.Key]bool) Choice {
	shown := *c
	if s.Active != nil && !slices.ContainsFunc(c.Published, func(p Published) bool { return published[p.Key()] }) {
		shown.Active = nil
		if *s.Active != endpoints.NoPriority {
			shown.Active = ptr.To(*s.Active)
		}
	}
	shown.Published = nil
	candidates := candidatesOf(in.Observed.Endpoints)
	for i := range candidates {
		if each := &candidates[i]; shown.Active != nil && each.Priority == *shown.Active {
			shown.Published = append(shown.Published, Published{Candidate: each, IsReady: published[each.Key()]})
		}
	}
	return shown
}
