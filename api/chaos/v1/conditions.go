// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of conditions. All but Stalled are present from the first reconcile on.
const (
	// ConditionReady is true while runs are scheduled and can take place.
	ConditionReady = common.ConditionReady
	// ConditionWaiting is true while a run is due, or has chosen its victims, and something forbids it. It never makes Ready
	// false: waiting for a window is no failure.
	ConditionWaiting = common.ConditionWaiting
	// ConditionProgressing is true while a run is under way, its verification included. Its reason is the state of the ChaosPod
	// in one word.
	ConditionProgressing = common.ConditionProgressing
	// ConditionSurvived is the verdict on the last run; it is unknown until there is one.
	ConditionSurvived = "Survived"
	// ConditionStalled is true when no run will take place until a user acts, and absent
	// otherwise.
	ConditionStalled = common.ConditionStalled
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = common.ConditionSuspended
)

// Reasons of Ready.
const (
	// ReasonScheduled: the next run is known.
	ReasonScheduled = "Scheduled"
	// ReasonCompleted: the only run of the schedule is over.
	ReasonCompleted = "Completed"
	// ReasonNoTarget: the target does not exist or has no pods; also a reason of Waiting.
	ReasonNoTarget = "NoTarget"
	// ReasonCanaryConflict: another pod has the name of the canary of target.template.
	ReasonCanaryConflict = "CanaryConflict"
	// ReasonUnschedulable: no node takes the canary.
	ReasonUnschedulable = "Unschedulable"
	// ReasonForbidden: the operator may not do this to the target.
	ReasonForbidden = common.ReasonForbidden
	// ReasonWriteRefused: the API server refuses what the ChaosPod does for another reason than a missing right, such as a
	// pod that it calls invalid, or a webhook that cannot be called; also a reason of Stalled.
	ReasonWriteRefused = common.ReasonWriteRefused
	// ReasonInvalidSpec: the spec does not pass the rules; also a reason of Stalled.
	ReasonInvalidSpec = common.ReasonInvalidSpec
)

// Reasons of Waiting.
const (
	// ReasonNothingPending goes with false, all others with true.
	ReasonNothingPending = common.ReasonNothingPending
	// ReasonOutsideWindow: no window is open.
	ReasonOutsideWindow = "OutsideWindow"
	// ReasonBlackout: a blackout is on.
	ReasonBlackout = "Blackout"
	// ReasonRestartInProgress: a RebootPolicy restarts the workload, or watches over a restart.
	ReasonRestartInProgress = "RestartInProgress"
	// ReasonFaultInjected: a fault is injected into an ExternalService that the workload depends on.
	ReasonFaultInjected = "FaultInjected"
	// ReasonUnstable: the workload rolls out.
	ReasonUnstable = "Unstable"
	// ReasonTooFewReady: safety.minReady would be undercut.
	ReasonTooFewReady = "TooFewReady"
	// ReasonDailyLimit: safety.maxPerDay is reached.
	ReasonDailyLimit = "DailyLimit"
	// ReasonBudgetBlocked: disruption budgets allowed no eviction in the last run.
	ReasonBudgetBlocked = "BudgetBlocked"
	// ReasonNoCandidate: no pod is fit to die, such as none that is old enough.
	ReasonNoCandidate = "NoCandidate"
	// ReasonUnknown: something about the target cannot be read.
	ReasonUnknown = "Unknown"
	// ReasonConcurrencyLimit: as many workloads of the cluster are disrupted as rebootPolicies.maxRestarts allows.
	ReasonConcurrencyLimit = "ConcurrencyLimit"
	// ReasonProbesInconclusive: so many checks fail that the fault is probably the operator's own.
	ReasonProbesInconclusive = common.ReasonProbesInconclusive
)

// Reasons of Progressing, beside Completed. With the first two it is true.
const (
	// ReasonKilling: victims are being killed.
	ReasonKilling = "Killing"
	// ReasonVerifying: the owners of the victims have yet to recover.
	ReasonVerifying = "Verifying"
	// ReasonIdle: no run is due.
	ReasonIdle = common.ReasonIdle
	// ReasonWaiting: a run is due and waits, see the condition Waiting.
	ReasonWaiting = common.ReasonWaiting
	// ReasonHalted: no run begins until a user acts, see the condition Stalled.
	ReasonHalted = common.ReasonHalted
)

// Reasons of Stalled and Survived.
const (
	// ReasonRecovered: the target was back in time; a reason of Survived.
	ReasonRecovered = "Recovered"
	// ReasonRecoveryFailed: the target was not back in time; a reason of Survived and Stalled.
	ReasonRecoveryFailed = "RecoveryFailed"
	// ReasonProbesFailed: more requests of verification.probes failed than may, or none could be sent; a reason of Survived and
	// Stalled, and of a run that killed nothing because of it.
	ReasonProbesFailed = "ProbesFailed"
	// ReasonEvictionMisconfigured: several disruption budgets match one pod, which the eviction
	// API refuses for good.
	ReasonEvictionMisconfigured = "EvictionMisconfigured"
	// ReasonNoRun: no run has been verified yet; a reason of Survived.
	ReasonNoRun = "NoRun"
)

// Reasons of runs and victims, beside those of Waiting and Stalled.
const (
	// ReasonSuspended: spec.suspend is true; also a reason of Progressing.
	ReasonSuspended = common.ReasonSuspended
	// ReasonSpecChanged: the spec is not the one that the victims were chosen by.
	ReasonSpecChanged = "SpecChanged"
	// ReasonDeleting: the ChaosPod is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonTimedOut: the pod could not be killed in time.
	ReasonTimedOut = "TimedOut"
	// ReasonTargetGone: the owner was deleted, or scaled to zero, before it recovered.
	ReasonTargetGone = "TargetGone"
	// ReasonCountZero: spec.count makes no whole pod.
	ReasonCountZero = "CountZero"
)

// Reasons of Suspended.
const (
	ReasonSuspendedBySpec = common.ReasonSuspendedBySpec
	ReasonNotSuspended    = common.ReasonNotSuspended
)

// The annotations that a user sets on a ChaosPod.
const (
	// ResumeAnnotation ends a halt. Its value is a common.Token.
	ResumeAnnotation = "chaos.fairlead.dev/resume"
	// RunNowAnnotation requests one run. Its value is a common.Token. The run waits for all that a scheduled one waits for,
	// except the schedule: windows, blackouts, safety.
	RunNowAnnotation = "chaos.fairlead.dev/run-now"
)

// TemplateHashLabel is on the canary of target.template, with the hash of the template that it was made
// from.
const TemplateHashLabel = "chaos.fairlead.dev/template-hash"
