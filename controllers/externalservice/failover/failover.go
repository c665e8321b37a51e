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

// Observation is what is known of the endpoints of one object.
type Observation struct {
	Endpoints []endpoints.Endpoint
	// IsIncomplete means that slices must not be changed yet: a name was never looked up, or the policy has
	// not synced (IsPolicyUnsynced).
	IsIncomplete, IsPolicyUnsynced bool
	// IsSuspect means that failures do not change health now.
	IsSuspect bool
	// UncheckedReason is why nothing is checked, as a sentence, or empty.
	UncheckedReason string
	// RequeueAt is when time alone changes the observation. Zero means never.
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

// Input is what a decision depends on beside the State.
type Input struct {
	// Now is the time of the decision.
	Now time.Time
	// Object is the ExternalService. Its spec has its defaults.
	Object *networkingv1.ExternalService
	// Slices are its EndpointSlices as they are, and Held the addresses in them. Held may be nil where no lookup and no
	// check is awaited.
	Slices []*discoveryv1.EndpointSlice
	Held   []endpoints.Held
	// Observed is what is known of its endpoints.
	Observed Observation

	// Dependants and Blackouts keep a fault from beginning. Either may be unknown.
	Dependants Dependants
	Blackouts  freeze.State
	// IsExempt means that admission does not check the rights of users in the namespace: no fault is injected.
	IsExempt bool
}

// State is what this process remembers of an object between decisions.
type State struct {
	// FirstSeen is when this process first saw the object.
	FirstSeen time.Time
	// IsDecided means that Active and isPanicking are those of a decision of this process, and not of an earlier one. Active
	// is endpoints.NoPriority where the spec does not have any more what is published.
	IsDecided   bool
	Active      *int32
	isPanicking bool
	// Reported is the active priority that the status has, as the spec numbers it now.
	Reported *int32
	// generation is that of the spec whose priorities these are, groups identify them, and publishedActual are the addresses
	// that a fault hides.
	generation      int64
	groups          [endpoints.NumPriorities]string
	publishedActual map[endpoints.Key]bool
	// Cause is why another priority was last published, as a reason of a change; empty where this process has changed none.
	Cause string
	// unqualified has the priorities without enough healthy addresses at the last decision, and qualifiedSince when each
	// first had enough after that; nil where all always had.
	unqualified    [endpoints.NumPriorities]bool
	qualifiedSince *[endpoints.NumPriorities]time.Time
	// HandledFailback is the last request to fail back that was handled, and fault the last request of a fault.
	HandledFailback common.Token
	fault           faultRequest
	// latestDecision is the latest time of a decision about a fault, and endedFault the last fault that this process has
	// ended.
	latestDecision time.Time
	endedFault     *networkingv1.FaultStatus
	// flaps are the addresses that have become unhealthy in this process.
	flaps map[addressKey]*flapState
	// heldSince is since when slices and status wait for first lookups and checks; zero where they do not.
	heldSince time.Time
	// outgoingSince is since when addresses that are ready are kept until their successors are checked.
	outgoingSince map[endpoints.Key]time.Time
	// SliceWrites are how often slices were written lately.
	SliceWrites WriteRate
}

// Decision is what to publish, or that nothing is decided yet.
type Decision struct {
	// IsHeld means that slices and status stay as they are until RequeueAt, or until something is enqueued.
	IsHeld bool
	// Actual is what to publish without a fault, and Shown the same under the fault.
	Actual, Shown Choice
	Fault         FaultDecision
	// RequeueAt is when time alone changes the decision. Zero means never.
	RequeueAt time.Time
}

const (
	// firstStatusDelay is how long a new object may be without a status while its names are looked up for the first time,
	// so that the first status is complete.
	firstStatusDelay = time.Second
	// UnsyncedRetry is how often an object is reconciled until the egress policy has synced, should the event that says so
	// be lost.
	UnsyncedRetry = 5 * time.Second
)

// Decide returns what to publish. What is not known yet is waited for, for a while, before anything is decided.
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

// Adopt has the priority that an earlier process has left be in force until a decision is recorded.
func (s *State) Adopt(previous *endpoints.Previous) {
	s.Active, s.Reported, s.isPanicking = previous.Active, previous.Reported, previous.IsPanicking
}

// Record stores that slices show a decision. One that they do not show was not made.
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

// qualifiedSinceAt returns qualifiedSince, with now for those that did not qualify at the last decision.
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
