// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

// Types of conditions that have the same meaning in each kind. All but Stalled are present from the first reconcile on:
// `kubectl wait --for=condition=Suspended=false` would wait forever for an absent condition.
const (
	// ConditionReady is true while the operator does what the spec says. A restart or run that is not due yet does not
	// change this.
	ConditionReady = "Ready"
	// ConditionWaiting is true while something is due and may not happen yet; its reason is the obstacle. It never makes
	// Ready false.
	ConditionWaiting = "Waiting"
	// ConditionProgressing is true while a restart or a run is under way. Its reason is the state of the object in one word.
	ConditionProgressing = "Progressing"
	// ConditionStalled is true while a user must act, and absent otherwise, as kstatus expects.
	ConditionStalled = "Stalled"
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = "Suspended"
)
