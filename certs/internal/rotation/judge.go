// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import "time"

// Propagation is what a look at the places said where clients find the bundle.
type Propagation int

const (
	// Unknown is no look, or one that failed.
	Unknown Propagation = iota
	// Complete is the bundle in every place.
	Complete
	// Missing is a place without all of it.
	Missing
)

// State is what is remembered of a rotation.
type State struct {
	Phase Phase

	// Since is when the phase was entered, or first met where that is later and a clock that is
	// ahead must not shorten a wait.
	Since time.Time

	// Observed is whether the root that signs was seen everywhere before.
	Observed bool
}

// Facts are what is known now.
type Facts struct {
	Now time.Time

	// Due is whether there is a reason for another root.
	Due bool

	// Propagation is of the bundle as it is now.
	Propagation Propagation

	// Unobservable is whether the clients' bundles cannot be read, so that time has to do instead.
	Unobservable bool

	// Expiry is when the root that signs expires.
	Expiry time.Time

	// FormerExpiry is when the last of the former roots expires; zero where none is trusted.
	FormerExpiry time.Time
}

// Delays is how long to wait for what cannot be observed.
type Delays struct {
	// Overlap is how long a bundle takes to get everywhere where the clients' bundles cannot be read.
	Overlap time.Duration

	// Settle is how long API servers take to follow their storage.
	Settle time.Duration

	// ReplicaSync is how long replicas take to read a phase.
	ReplicaSync time.Duration

	// LeafLifetime is the life of a certificate and how far clocks differ.
	LeafLifetime time.Duration
}

// Decision is what follows.
type Decision struct {
	// Event is what has come about; empty where nothing has.
	Event Event

	// CheckBundle is whether a look at the bundle would help.
	CheckBundle bool

	// RecheckAt is when to judge again though nothing happens; zero where only an event helps.
	RecheckAt time.Time
}

// Decide says which event the facts amount to in a state.
func (p Delays) Decide(s State, f Facts) Decision {
	switch s.Phase {
	case Publishing:
		return p.publishing(s, f)
	case Observed:
		return p.observed(s, f)
	case Signing:
		return p.signing(s, f)
	case Retiring:
		end := s.Since.Add(p.LeafLifetime)
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

func (p Delays) publishing(s State, f Facts) Decision {
	switch {
	case !f.Now.Before(f.Expiry):
		return Decision{Event: Expired}
	case f.Propagation == Complete:
		return Decision{Event: Propagated}
	case f.Unobservable:
		return recheckBy(f.Expiry, eventAt(s.Since.Add(p.Overlap), Propagated, f))
	}
	return Decision{CheckBundle: true, RecheckAt: f.Expiry}
}

// observed looks once more at the end: what was published may have been taken back.
func (p Delays) observed(s State, f Facts) Decision {
	switch {
	case !f.Now.Before(f.Expiry):
		return Decision{Event: Expired}
	case f.Propagation == Missing:
		return Decision{Event: Withdrawn}
	}
	verdict := recheckBy(f.Expiry, eventAt(s.Since.Add(p.Settle), Settled, f))
	if verdict.Event == Settled && f.Propagation != Complete && !f.Unobservable {
		return Decision{CheckBundle: true, RecheckAt: f.Expiry}
	}
	return verdict
}

func (p Delays) signing(s State, f Facts) Decision {
	switch {
	case s.Observed:
		return eventAt(s.Since.Add(p.ReplicaSync), ReplicasSynced, f)
	case f.Propagation == Complete, !f.Now.Before(f.FormerExpiry): // after that no replica signs with another one
		return Decision{Event: Propagated}
	case f.Unobservable:
		return recheckBy(f.FormerExpiry, eventAt(s.Since.Add(p.Overlap), Propagated, f))
	}
	return Decision{CheckBundle: true, RecheckAt: f.FormerExpiry}
}

// eventAt is the event once the moment has come.
func eventAt(moment time.Time, event Event, f Facts) Decision {
	if f.Now.Before(moment) {
		return Decision{RecheckAt: moment}
	}
	return Decision{Event: event}
}

// recheckBy is the verdict, judged again no later than at the moment.
func recheckBy(moment time.Time, verdict Decision) Decision {
	if verdict.Event == "" && moment.Before(verdict.RecheckAt) {
		verdict.RecheckAt = moment
	}
	return verdict
}
