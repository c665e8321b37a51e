// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// Types of conditions of a ChaosPod.
const (
	// ConditionReady is true while runs are scheduled and can take place.
	ConditionReady = "Ready"
	// ConditionRunning is true while a run is under way, its verification included.
	ConditionRunning = "Running"
	// ConditionSurvived is the verdict on the last run; it is unknown until there is one.
	ConditionSurvived = "Survived"
	// ConditionHeld is true while a run is due and something forbids it. It never makes Ready
	// false: waiting for a window is no failure.
	ConditionHeld = "Held"
	// ConditionStalled is true when no run will take place until somebody acts, and absent
	// otherwise.
	ConditionStalled = "Stalled"
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = "Suspended"
)

// Reasons of Ready.
const (
	// ReasonScheduled: the next run is known.
	ReasonScheduled = "Scheduled"
	// ReasonNoTarget: the target does not exist or has no pods.
	ReasonNoTarget = "NoTarget"
	// ReasonForbidden: the operator may not do this to the target.
	ReasonForbidden = "Forbidden"
	// ReasonInvalidSpec: the spec does not pass the rules; also a reason of Stalled.
	ReasonInvalidSpec = "InvalidSpec"
)

// Reasons of Held.
const (
	// ReasonOutsideWindow: no window is open.
	ReasonOutsideWindow = "OutsideWindow"
	// ReasonBlackout: a blackout is on.
	ReasonBlackout = "Blackout"
	// ReasonRestartInProgress: a RebootPolicy restarts the workload, or watches over a restart.
	ReasonRestartInProgress = "RestartInProgress"
	// ReasonUnstable: the workload rolls out.
	ReasonUnstable = "Unstable"
	// ReasonTooFewReady: safety.minReady would be undercut.
	ReasonTooFewReady = "TooFewReady"
	// ReasonDailyLimit: safety.maxPerDay is reached.
	ReasonDailyLimit = "DailyLimit"
	// ReasonBudgetBlocked: disruption budgets allow no eviction.
	ReasonBudgetBlocked = "BudgetBlocked"
)

// Reasons of Stalled and Survived.
const (
	// ReasonRecovered: the target was back in time; a reason of Survived.
	ReasonRecovered = "Recovered"
	// ReasonRecoveryFailed: the target was not back in time; a reason of Survived and Stalled.
	ReasonRecoveryFailed = "RecoveryFailed"
	// ReasonEvictionMisconfigured: several disruption budgets match one pod, which the eviction
	// API refuses for good.
	ReasonEvictionMisconfigured = "EvictionMisconfigured"
)
