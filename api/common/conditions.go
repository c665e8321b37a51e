// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

// Types of conditions that have the same meaning in each kind. All but Stalled are present from the first reconcile on:
// `kubectl wait --for=condition=Suspended=false` waits for ever for a condition that is absent.
const (
	// ConditionReady is true while the operator does what the spec says, as far as nothing is due later.
	ConditionReady = "Ready"
	// ConditionWaiting is true while something is due that may not happen yet; its reason says what for. It never makes Ready
	// false.
	ConditionWaiting = "Waiting"
	// ConditionProgressing is true while a restart or a run is under way. Its reason is the state of the object in one word.
	ConditionProgressing = "Progressing"
	// ConditionStalled is true while a user must act, and absent otherwise, as kstatus expects.
	ConditionStalled = "Stalled"
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = "Suspended"
)

// Reasons of these conditions that have the same meaning in each kind.
const (
	// ReasonNothingPending goes with Waiting false.
	ReasonNothingPending = "NothingPending"
	// ReasonSuspendedBySpec goes with Suspended true, and ReasonNotSuspended with false.
	ReasonSuspendedBySpec = "SuspendedBySpec"
	ReasonNotSuspended    = "NotSuspended"
	// ReasonSuspended says of another condition that spec.suspend makes it what it is, such as Waiting.
	ReasonSuspended = "Suspended"
	// ReasonIdle, ReasonWaiting and ReasonHalted go with Progressing false: nothing is due, something is that waits, or
	// nothing begins until a user acts.
	ReasonIdle    = "Idle"
	ReasonWaiting = "Waiting"
	ReasonHalted  = "Halted"
	// ReasonForbidden says that a right is missing, of the operator or of who wrote the object.
	ReasonForbidden = "Forbidden"
	// ReasonWriteRefused says that the API server refuses a write for another reason, such as a quota, an admission policy
	// or a webhook. The message has its words.
	ReasonWriteRefused = "WriteRefused"
	// ReasonInvalidSpec says that the stored spec breaks a rule. It goes with Ready and Progressing false, and Stalled true.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonDeleting is a reason of Ready: the object is being deleted, and nothing is done for it any more.
	ReasonDeleting = "Deleting"
	// ReasonProbesInconclusive says that so many checks fail at once that the fault is probably the operator's own.
	ReasonProbesInconclusive = "ProbesInconclusive"
)
