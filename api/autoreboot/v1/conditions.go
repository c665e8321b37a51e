// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// The types of condition. Ready is always there; Stalled, RestartPending and Progressing are
// absent when normal, so that tools which wait for an object (kstatus) never wait for a window.
const (
	// ConditionReady says whether the policy watches all it was asked to.
	ConditionReady = "Ready"
	// ConditionRestartPending is true while a restart waits, and says for what.
	ConditionRestartPending = "RestartPending"
	// ConditionProgressing is true while a restart runs.
	ConditionProgressing = "Progressing"
	// ConditionVerified is the verdict on the latest restart.
	ConditionVerified = "Verified"
	// ConditionStalled is true while the policy needs a human.
	ConditionStalled = "Stalled"
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = "Suspended"
)

// The reasons of Ready.
const (
	// ReasonWatching goes with true, all others with false.
	ReasonWatching       = "Watching"
	ReasonTargetNotFound = "TargetNotFound"
	ReasonSourceNotFound = "SourceNotFound"
	// ReasonForbidden says that the operator may not read or restart what the policy names.
	ReasonForbidden = "Forbidden"
)

// The reasons of RestartPending.
const (
	// ReasonDebouncing waits for debounce.quietPeriod.
	ReasonDebouncing = "Debouncing"
	// ReasonOutsideWindow waits for one of windows to open.
	ReasonOutsideWindow = "OutsideWindow"
	// ReasonBlackout waits for the end of one of blackouts.
	ReasonBlackout = "Blackout"
	// ReasonCooldown waits for the target's cooldown to pass.
	ReasonCooldown = "Cooldown"
	// ReasonGateClosed waits for one of gates.
	ReasonGateClosed = "GateClosed"
	// ReasonConcurrencyLimit waits for another restart to end.
	ReasonConcurrencyLimit = "ConcurrencyLimit"
	// ReasonChaosActive waits for a ChaosPod's run on the same workload to end.
	ReasonChaosActive = "ChaosActive"
)

// The reasons of Stalled.
const (
	// ReasonVerificationFailed follows a failed restart with onFailure Halt.
	ReasonVerificationFailed = "VerificationFailed"
	// ReasonLimitReached says that a target has used up limit.maxRestarts.
	ReasonLimitReached = "LimitReached"
	// ReasonTargetReverted says that the workload's owner takes the restart back: use Evict.
	ReasonTargetReverted = "TargetReverted"
	// ReasonInvalidSpec says that the stored spec breaks a rule; it goes with Ready as well.
	ReasonInvalidSpec = "InvalidSpec"
)

// The annotations that a user sets on a policy.
const (
	// ResumeAnnotation clears a halt that began before the RFC 3339 time it holds.
	ResumeAnnotation = "autoreboot.fairlead.dev/resume"
	// RestartNowAnnotation asks for one restart for each new token that it is given.
	RestartNowAnnotation = "autoreboot.fairlead.dev/restart-now"
)
