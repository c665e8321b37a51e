// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import "time"

// Propagation is the state of the CA bundle in the places that clients read it from.
type Propagation int

const (
	// Unknown means that they were not read, or could not be.
	Unknown Propagation = iota
	// Complete means that the bundle is in every place.
	Complete
	// Missing means that a place lacks part of it.
	Missing
)

// State is the stored state of a rotation.
type State struct {
	Phase Phase

	// Since is when the phase was entered or, where that is later, first read here: a clock that is
	// ahead must not shorten a delay.
	Since time.Time

	// Observed means that the root that signs was observed everywhere before.
	Observed bool
}

// Facts are the inputs of a decision.
type Facts struct {
	Now time.Time

	// Due means that there is a reason for another root.
	Due bool

	// Propagation is of the current bundle.
	Propagation Propagation

	// Unobservable means that the places cannot be read at all, so that delays decide instead.
	Unobservable bool

	// Expiry is when the root that signs expires.
	Expiry time.Time

	// FormerExpiry is when the last of the previous roots expires. It is zero if none is trusted.
	FormerExpiry time.Time
}

// Delays are the waiting times for states that cannot be observed.
type Delays struct {
	// Overlap is how long a bundle takes to reach all clients where these cannot be observed.
	Overlap time.Duration

	// Settle is how long API servers take to follow their storage.
	Settle time.Duration

	// ReplicaSync is how long replicas take to read a phase.
	ReplicaSync time.Duration

	// LeafLifetime is the validity of a certificate plus the tolerated clock skew.
	LeafLifetime time.Duration
}

// Decision is the result for a state.
type Decision struct {
	// Event is the event that is due; empty where none is.
	Event Event

	// CheckBundle means that reading the bundle's places would help.
	CheckBundle bool

	// RecheckAt is when to decide again if nothing happens before; zero where only an event helps.
	RecheckAt time.Time
}

// Decide returns which event the facts amount to in a state.
func (d Delays) Decide(s State, f Facts) Decision {
	switch s.Phase {
	case Publishing:
		return d.publishing(s, f)
	case Observed:
		return d.observed(s, f)
	case Signing:
		return d.signing(s, f)
	case Retiring:
		end := s.Since.Add(d.LeafLifetime)
		if f.FormerExpiry.Before(end) {
			end = f.FormerExpiry
		}
		return eventAt(end, FormerExpired, f)
	default:
		if f.Due {
			return Decision{Event: Due}
		}
		return Decision{}
	}
}

func (d Delays) publishing(s State, f Facts) Decision {
	switch {
	case !f.Now.Before(f.Expiry):
		return Decision{Event: Expired}
	case f.Propagation == Complete:
		return Decision{Event: Propagated}
	case f.Unobservable:
		return recheckBy(f.Expiry, eventAt(s.Since.Add(d.Overlap), Propagated, f))
	}
	return Decision{CheckBundle: true, RecheckAt: f.Expiry}
}

// observed requires another check at the end: what was published may have been reverted.
func (d Delays) observed(s State, f Facts) Decision {
	switch {
	case !f.Now.Before(f.Expiry):
		return Decision{Event: Expired}
	case f.Propagation == Missing:
		return Decision{Event: Withdrawn}
	}
	decision := recheckBy(f.Expiry, eventAt(s.Since.Add(d.Settle), Settled, f))
	if decision.Event == Settled && f.Propagation != Complete && !f.Unobservable {
		return Decision{CheckBundle: true, RecheckAt: f.Expiry}
	}
	return decision
}

func (d Delays) signing(s State, f Facts) Decision {
	switch {
	case s.Observed:
		return eventAt(s.Since.Add(d.ReplicaSync), ReplicasSynced, f)
	case f.Propagation == Complete, !f.Now.Before(f.FormerExpiry): // after that no replica signs with another one
		return Decision{Event: Propagated}
	case f.Unobservable:
		return recheckBy(f.FormerExpiry, eventAt(s.Since.Add(d.Overlap), Propagated, f))
	}
	return Decision{CheckBundle: true, RecheckAt: f.FormerExpiry}
}

// eventAt returns the event once the time has come.
func eventAt(at time.Time, event Event, f Facts) Decision {
	if f.Now.Before(at) {
		return Decision{RecheckAt: at}
	}
	return Decision{Event: event}
}

// recheckBy returns the decision with RecheckAt no later than at.
func recheckBy(at time.Time, decision Decision) Decision {
	if decision.Event == "" && at.Before(decision.RecheckAt) {
		decision.RecheckAt = at
	}
	return decision
}
