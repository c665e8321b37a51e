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
	// Due says that the root is old, or a user asks for another one.
	Due Event = "Due"
	// Propagated says that the bundle stands wherever clients look for it, or has had the time to get there where
	// these places cannot be read.
	Propagated Event = "Propagated"
	// Withdrawn says that it stood there, and does no longer.
	Withdrawn Event = "Withdrawn"
	// Settled says that API servers have had the time to take it up.
	Settled Event = "Settled"
	// ReplicasSynced says that replicas have had the time to learn who signs.
	ReplicasSynced Event = "ReplicasSynced"
	// FormerExpired says that every certificate that the former root may have signed has expired.
	FormerExpired Event = "FormerExpired"
	// Expired says that the root that signs has expired before the next one was seen everywhere.
	Expired Event = "Expired"
)

// Effect is what a transition does to the roots.
type Effect string

const (
	// KeepRoots changes nothing but the phase.
	KeepRoots Effect = "KeepRoots"
	// CreateRoot makes the next root, beside the current one.
	CreateRoot Effect = "CreateRoot"
	// Promote makes the next root the one that signs. Its predecessor stays trusted.
	Promote Effect = "Promote"
	// PromoteUnobserved is Promote for a root that clients may not trust yet.
	PromoteUnobserved Effect = "PromoteUnobserved"
	// MarkObserved notes that clients trust the root that signs.
	MarkObserved Effect = "MarkObserved"
	// DropFormer ends the trust in the former root.
	DropFormer Effect = "DropFormer"
)

// Transition is one row of the table.
type Transition struct {
	From   Phase
	On     Event
	To     Phase
	Effect Effect
}

// Table is the whole machine.
func Table() []Transition {
	return []Transition{
		{Stable, Due, Publishing, CreateRoot},
		{Publishing, Propagated, Observed, KeepRoots},
		{Publishing, Expired, Signing, PromoteUnobserved},
		{Observed, Settled, Signing, Promote},
		{Observed, Withdrawn, Publishing, KeepRoots},
		{Observed, Expired, Signing, PromoteUnobserved},
		{Signing, Propagated, Signing, MarkObserved}, // a root that was made in an emergency, or was forced
		{Signing, ReplicasSynced, Retiring, KeepRoots},
		{Retiring, FormerExpired, Stable, DropFormer},
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
