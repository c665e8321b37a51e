// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// Observation holds the observed endpoints of one object.
type Observation struct {
	Endpoints []endpoints.Endpoint
	// IsIncomplete means that slices must not be changed yet: a name was never looked up, or the egress policy has not
	// synced (IsPolicyUnsynced).
	IsIncomplete, IsPolicyUnsynced bool
	// IsSuspect means that failed checks do not change health now, since this process or its network may be at fault.
	IsSuspect bool
	// UncheckedReason is why nothing is checked, as a sentence; empty if addresses are checked.
	UncheckedReason string
	// RequeueAt is when the observation changes although nothing happens. Zero means never.
	RequeueAt time.Time
}

// AwaitsAny reports whether an address waits for its first lookup or check.
func (o *Observation) AwaitsAny() bool {
	for _, a := range endpoints.Active(o.Endpoints) {
		if a.Health.State == networkingv1.AddressUnknown {
			return true
		}
	}
	return o.IsIncomplete
}

// Input holds what a decision depends on, besides the State.
type Input struct {
	// Now is the time of the decision.
	Now time.Time
	// Object is the ExternalService. Its spec has its defaults.
	Object *networkingv1.ExternalService
	// Slices are the current EndpointSlices of the object, and Held the addresses in them. Held may be nil if no lookup
	// and no check is awaited.
	Slices []*discoveryv1.EndpointSlice
	Held   []endpoints.Held
	// Observed is the observation of its endpoints.
	Observed Observation

	// Dependants and Blackouts can prevent a fault from beginning. Either may be unknown.
	Dependants Dependants
	Blackouts  freeze.State
	// IsExempt means that admission does not check the rights of users in the namespace: no fault is injected.
	IsExempt bool
}

// State is the memory of this process about an object between decisions.
type State struct {
	// FirstSeen is when this process first saw the object.
	FirstSeen time.Time
	// IsDecided means that Active and isPanicking are from a decision of this process rather than of an earlier one.
	// Active is endpoints.NoPriority if the spec no longer has what is published.
	IsDecided   bool
	Active      *int32
	isPanicking bool
	// Reported is the active priority in the status, by the numbers of the current spec.
	Reported *int32
	// generation is the generation of the spec with these priorities, and groups identify them. publishedActual are the
	// addresses that a fault hides.
	generation      int64
	groups          [endpoints.NumPriorities]string
	publishedActual map[endpoints.Key]bool
	// Cause is why another priority was last published, as a reason of a change. It is empty if this process has not
	// changed it.
	Cause string
	// unqualified marks the priorities that lacked healthy addresses at the last decision. qualifiedSince is when each
	// had enough again; nil if all always had.
	unqualified    [endpoints.NumPriorities]bool
	qualifiedSince *[endpoints.NumPriorities]time.Time
	// HandledFailback is the last request for a failback that was handled, and fault the last request for a fault.
	HandledFailback common.Token
	fault           faultRequest
	// latestDecision is the time of the latest decision about a fault, and endedFault the last fault that this process
	// has ended.
	latestDecision time.Time
	endedFault     *networkingv1.FaultStatus
	// flaps are the addresses that have become unhealthy while this process ran.
	flaps map[addressKey]*flapState
	// heldSince is the time from which slices and status wait for first lookups and checks; zero if they do not.
	heldSince time.Time
	// outgoingSince is the time from which ready addresses that the spec no longer selects are kept until their replacements are
	// checked.
	outgoingSince map[endpoints.Key]time.Time
	// SliceWrites is the recent rate of writes of slices.
	SliceWrites WriteRate
}

// Decision is the result of Decide: the endpoints to publish, unless IsHeld.
type Decision struct {
	// IsHeld means that slices and status stay as they are until RequeueAt, or until something is enqueued.
	IsHeld bool
	// Actual is the choice without a fault, and Shown the choice that is published, with the fault.
	Actual, Shown Choice
	Fault         FaultDecision
	// RequeueAt is when the decision changes although nothing happens. Zero means never.
	RequeueAt time.Time
}

const (
	// firstStatusDelay is how long a new object may be without a status while its names are looked up, so that the first
	// status is complete.
	firstStatusDelay = time.Second
	// UnsyncedRetry is how often an object is reconciled until the egress policy has synced, in case the event of that is
	// lost.
	UnsyncedRetry = 5 * time.Second
)

// Decide returns what to publish. Before it decides, it waits for a while for facts that are not known yet.
func (s *State) Decide(in *Input) Decision {
	if o := &in.Observed; o.IsPolicyUnsynced || o.IsIncomplete && in.Now.Before(s.holdEnd(in.Now)) {
		return Decision{IsHeld: true, RequeueAt: s.incompleteUntil(in)}
	}
	s.renumber(in)
	c := s.criteriaOf(in)
	d := Decision{Actual: choose(candidatesOf(in.Observed.Endpoints), c)}
	if due := s.awaitFirstProbes(in, &d.Actual); in.Now.Before(due) {
		return Decision{IsHeld: true, RequeueAt: due}
	}
	s.heldSince = time.Time{}
	d.Fault, d.Shown = s.decideFault(in, c, &d.Actual)
	if !d.Fault.IsInEffect {
		s.keepReady(in, &d.Shown)
	}
	d.RequeueAt = controller.Earliest(d.Shown.RequeueAt, in.Observed.RequeueAt, d.Fault.RequeueAt)
	return d
}

// Adopt takes over the priority that an earlier process has published, until a decision is recorded.
func (s *State) Adopt(previous *endpoints.Previous) {
	s.Active, s.Reported, s.isPanicking = previous.Active, previous.Reported, previous.IsPanicking
}

// Record stores that slices show a decision. A decision that they do not show does not count.
func (s *State) Record(in *Input, d *Choice) {
	s.IsDecided, s.isPanicking = true, d.IsPanicking
	if s.Active != nil && d.Active != nil && *s.Active != *d.Active {
		s.Cause = d.Cause
	}
	s.Active = nil
	if d.Active != nil {
		s.Active = ptr.To(*d.Active)
	}
	for priority := range s.unqualified {
		had := d.qualified&(1<<priority) != 0
		if had && s.unqualified[priority] {
			if s.qualifiedSince == nil {
				s.qualifiedSince = &[endpoints.NumPriorities]time.Time{}
			}
			s.qualifiedSince[priority] = in.Now
		}
		s.unqualified[priority] = !had
	}
	s.publishedActual = nil
	if in.Object.Status.Fault.Lasts() {
		s.publishedActual = make(map[endpoints.Key]bool, len(d.Published))
		for _, p := range d.Published {
			s.publishedActual[p.Key()] = p.IsReady
		}
	}
	if d.failbackHandled {
		s.HandledFailback = requests.Handle(in.Object, networkingv1.FailbackNowAnnotation, s.HandledFailback)
	}
}

// qualifiedSinceAt returns qualifiedSince. For priorities that did not qualify at the last decision, it has now.
func (s *State) qualifiedSinceAt(now time.Time) [endpoints.NumPriorities]time.Time {
	at := ptr.Deref(s.qualifiedSince, [endpoints.NumPriorities]time.Time{})
	for priority, unqualified := range s.unqualified {
		if unqualified {
			at[priority] = now
		}
	}
	return at
}

// incompleteUntil returns when to reconcile again while the observation is incomplete. A lookup that ends enqueues the
// object.
func (s *State) incompleteUntil(in *Input) time.Time {
	first := s.FirstSeen.Add(firstStatusDelay)
	switch {
	case in.Now.Before(first) && in.Object.Status.ObservedGeneration != in.Object.Generation:
		return first
	case in.Observed.IsPolicyUnsynced:
		return in.Now.Add(UnsyncedRetry)
	}
	return s.holdEnd(in.Now)
}

// IsStatusDue reports whether an object whose addresses are not known yet has a status that says so.
func (s *State) IsStatusDue(in *Input) bool {
	return in.Observed.IsIncomplete && in.Now.Sub(s.FirstSeen) >= firstStatusDelay &&
		in.Object.Status.ObservedGeneration != in.Object.Generation
}
