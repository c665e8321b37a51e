// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

// Phase is how far a rotation has come.
type Phase string

const (
	// Stable is no rotation: one root signs, and is trusted.
	Stable Phase = "Stable"
	// Publishing is until the next root is trusted everywhere. The current one signs.
	Publishing Phase = "Publishing"
	// Observed is while API servers take up what was seen in their storage. The current one signs.
	Observed Phase = "Observed"
	// Signing is while replicas learn that the next root has become the one that signs.
	Signing Phase = "Signing"
	// Retiring is until no certificate of the former root is left that has not expired.
	Retiring Phase = "Retiring"
)

// Phases are all of them, in their order.
func Phases() []Phase { return []Phase{Stable, Publishing, Observed, Signing, Retiring} }

// Event is what leads from one phase to the next.
type Event string

const (
	// Wanted says that the root is old, or a user asks for another one.
	Wanted Event = "Wanted"
	// Seen says that the bundle stands wherever clients look for it, or has had the time to get there where
	// these places cannot be read.
	Seen Event = "Seen"
	// Unseen says that it stood there, and does no longer.
	Unseen Event = "Unseen"
	// Settled says that API servers have had the time to take it up.
	Settled Event = "Settled"
	// Noticed says that replicas have had the time to learn who signs.
	Noticed Event = "Noticed"
	// Outlived says that every certificate that the former root may have signed has expired.
	Outlived Event = "Outlived"
	// Expired says that the root that signs has expired before the next one was seen everywhere.
	Expired Event = "Expired"
)

// Effect is what a transition does to the roots.
type Effect string

const (
	// Note changes nothing but the phase.
	Note Effect = "Note"
	// Mint makes the next root, beside the current one.
	Mint Effect = "Mint"
	// Promote makes the next root the one that signs. Its predecessor stays trusted.
	Promote Effect = "Promote"
	// Force is Promote for a root that clients may not trust yet.
	Force Effect = "Force"
	// Vouch notes that clients trust the root that signs.
	Vouch Effect = "Vouch"
	// Retire ends the trust in the former root.
	Retire Effect = "Retire"
)

// Transition is one row of the table.
type Transition struct {
	From Phase
	On   Event
	To   Phase
	Do   Effect
}

// Table is the whole machine.
func Table() []Transition {
	return []Transition{
		{Stable, Wanted, Publishing, Mint},
		{Publishing, Seen, Observed, Note},
		{Publishing, Expired, Signing, Force},
		{Observed, Settled, Signing, Promote},
		{Observed, Unseen, Publishing, Note},
		{Observed, Expired, Signing, Force},
		{Signing, Seen, Signing, Vouch}, // a root that was made in an emergency, or was forced
		{Signing, Noticed, Retiring, Note},
		{Retiring, Outlived, Stable, Retire},
	}
}

// Next is the row for an event in a phase; false where the event means nothing there.
func Next(from Phase, on Event) (Transition, bool) {
	for _, row := range Table() {
		if row.From == from && row.On == on {
			return row, true
		}
	}
	return Transition{}, false
}
