// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import "time"

// Sight is what a look at the places said where clients find the bundle.
type Sight int

const (
	// Unknown is no look, or one that failed.
	Unknown Sight = iota
	// Standing is the bundle in every place.
	Standing
	// Missing is a place without all of it.
	Missing
)

// State is what is remembered of a rotation.
type State struct {
	Phase Phase

	// Since is when the phase was entered, or first met where that is later and a clock that is
	// ahead must not shorten a wait.
	Since time.Time

	// Vouched is whether the root that signs was seen everywhere before.
	Vouched bool
}

// Facts are what is known now.
type Facts struct {
	Now time.Time

	// Wanted is whether there is a reason for another root.
	Wanted bool

	// Sight is of the bundle as it is now.
	Sight Sight

	// Blind is whether the clients' bundles cannot be read, so that time has to do instead.
	Blind bool

	// Expiry is when the root that signs expires.
	Expiry time.Time

	// FormerExpiry is when the last of the former roots expires; zero where none is trusted.
	FormerExpiry time.Time
}

// Pace is how long to wait for what cannot be observed.
type Pace struct {
	// Overlap is how long a bundle takes to get everywhere where the clients' bundles cannot be read.
	Overlap time.Duration

	// Settle is how long API servers take to follow their storage.
	Settle time.Duration

	// Notice is how long replicas take to read a phase.
	Notice time.Duration

	// Linger is the life of a certificate and how far clocks differ.
	Linger time.Duration
}

// Verdict is what follows.
type Verdict struct {
	// Event is what has come about; empty where nothing has.
	Event Event

	// Look is whether a look at the bundle would help.
	Look bool

	// Next is when to judge again though nothing happens; zero where only an event helps.
	Next time.Time
}

// Judge says which event the facts amount to in a state.
func (p Pace) Judge(s State, f Facts) Verdict {
	switch s.Phase {
	case Publishing:
		return p.publishing(s, f)
	case Observed:
		return p.observed(s, f)
	case Signing:
		return p.signing(s, f)
	case Retiring:
		end := s.Since.Add(p.Linger)
		if f.FormerExpiry.Before(end) {
			end = f.FormerExpiry
		}
		return after(end, Outlived, f)
	default:
		if f.Wanted {
			return Verdict{Event: Wanted}
		}
		return Verdict{}
	}
}

func (p Pace) publishing(s State, f Facts) Verdict {
	switch {
	case !f.Now.Before(f.Expiry):
		return Verdict{Event: Expired}
	case f.Sight == Standing:
		return Verdict{Event: Seen}
	case f.Blind:
		return before(f.Expiry, after(s.Since.Add(p.Overlap), Seen, f))
	}
	return Verdict{Look: true, Next: f.Expiry}
}

// observed looks once more at the end: what was published may have been taken back.
func (p Pace) observed(s State, f Facts) Verdict {
	switch {
	case !f.Now.Before(f.Expiry):
		return Verdict{Event: Expired}
	case f.Sight == Missing:
		return Verdict{Event: Unseen}
	}
	verdict := before(f.Expiry, after(s.Since.Add(p.Settle), Settled, f))
	if verdict.Event == Settled && f.Sight != Standing && !f.Blind {
		return Verdict{Look: true, Next: f.Expiry}
	}
	return verdict
}

func (p Pace) signing(s State, f Facts) Verdict {
	switch {
	case s.Vouched:
		return after(s.Since.Add(p.Notice), Noticed, f)
	case f.Sight == Standing, !f.Now.Before(f.FormerExpiry): // after that no replica signs with another one
		return Verdict{Event: Seen}
	case f.Blind:
		return before(f.FormerExpiry, after(s.Since.Add(p.Overlap), Seen, f))
	}
	return Verdict{Look: true, Next: f.FormerExpiry}
}

// after is the event once the moment has come.
func after(moment time.Time, event Event, f Facts) Verdict {
	if f.Now.Before(moment) {
		return Verdict{Next: moment}
	}
	return Verdict{Event: event}
}

// before is the verdict, judged again no later than at the moment.
func before(moment time.Time, verdict Verdict) Verdict {
	if verdict.Event == "" && moment.Before(verdict.Next) {
		verdict.Next = moment
	}
	return verdict
}
