// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

// Phase is the state of a rotation.
type Phase string

const (
	// Stable means that no rotation is in progress: one root signs and is trusted.
	Stable Phase = "Stable"
	// Publishing lasts until the next root is trusted everywhere. The current root signs.
	Publishing Phase = "Publishing"
	// Observed lasts while API servers read what was observed in their storage. The current root signs.
	Observed Phase = "Observed"
	// Signing lasts while replicas learn that the next root signs.
	Signing Phase = "Signing"
	// Retiring lasts until every certificate of the previous root has expired.
	Retiring Phase = "Retiring"
)

// Phases returns all phases in their order.
func Phases() []Phase { return []Phase{Stable, Publishing, Observed, Signing, Retiring} }

// Event leads from one phase to another.
type Event string

const (
	// Due means that the root is old, or a user requests another one.
	Due Event = "Due"
	// Propagated means that the bundle is in every place that clients read or, where these cannot be read, has had
	// the time to get there.
	Propagated Event = "Propagated"
	// Withdrawn means that the bundle was in every place, and is no longer.
	Withdrawn Event = "Withdrawn"
	// Settled means that API servers have had the time to read it.
	Settled Event = "Settled"
	// ReplicasSynced means that replicas have had the time to learn which root signs.
	ReplicasSynced Event = "ReplicasSynced"
	// FormerExpired means that every certificate that the previous root may have signed has expired.
	FormerExpired Event = "FormerExpired"
	// Expired means that the root that signs expired before the next one was observed everywhere.
	Expired Event = "Expired"
)

// Effect is the change that a transition makes to the roots.
type Effect string

const (
	// KeepRoots changes the phase only.
	KeepRoots Effect = "KeepRoots"
	// CreateRoot creates the next root in addition to the current one.
	CreateRoot Effect = "CreateRoot"
	// Promote makes the next root the one that signs. Its predecessor stays trusted.
	Promote Effect = "Promote"
	// PromoteUnobserved is Promote for a root that clients may not trust yet.
	PromoteUnobserved Effect = "PromoteUnobserved"
	// MarkObserved records that clients trust the root that signs.
	MarkObserved Effect = "MarkObserved"
	// DropFormer ends the trust in the previous root.
	DropFormer Effect = "DropFormer"
)

// Transition is one row of the table.
type Transition struct {
	From   Phase
	On     Event
	To     Phase
	Effect Effect
}

// Table returns all transitions.
func Table() []Transition {
	return []Transition{
		{Stable, Due, Publishing, CreateRoot},
		{Publishing, Propagated, Observed, KeepRoots},
		{Publishing, Expired, Signing, PromoteUnobserved},
		{Observed, Settled, Signing, Promote},
		{Observed, Withdrawn, Publishing, KeepRoots},
		{Observed, Expired, Signing, PromoteUnobserved},
		{Signing, Propagated, Signing, MarkObserved}, // a root that had to sign before it was observed
		{Signing, ReplicasSynced, Retiring, KeepRoots},
		{Retiring, FormerExpired, Stable, DropFormer},
	}
}

// Next returns the transition for an event in a phase, and false where there is none.
func Next(from Phase, on Event) (Transition, bool) {
	for _, row := range Table() {
		if row.From == from && row.On == on {
			return row, true
		}
	}
	return Transition{}, false
}
