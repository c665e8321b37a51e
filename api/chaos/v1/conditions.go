// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// Types of conditions of a ChaosPod.
const (
	// ConditionReady is true while runs are scheduled and can take place.
	ConditionReady = "Ready"
	// ConditionRunning is true while a run is under way, its verification included, and absent
	// otherwise.
	ConditionRunning = "Running"
	// ConditionSurvived is the verdict on the last run; it is unknown until there is one.
	ConditionSurvived = "Survived"
	// ConditionHeld is true while a run is due and something forbids it, and absent otherwise. It
	// never makes Ready false: waiting for a window is no failure.
	ConditionHeld = "Held"
	// ConditionStalled is true when no run will take place until a user acts, and absent
	// otherwise.
	ConditionStalled = "Stalled"
	// ConditionSuspended is true while spec.suspend is, and absent otherwise.
	ConditionSuspended = "Suspended"
)

// Reasons of Ready.
const (
	// ReasonScheduled: the next run is known.
	ReasonScheduled = "Scheduled"
	// ReasonCompleted: the only run of the schedule is over.
	ReasonCompleted = "Completed"
	// ReasonNoTarget: the target does not exist or has no pods; also a reason of Held.
	ReasonNoTarget = "NoTarget"
	// ReasonCanaryConflict: another pod has the name of the canary of target.template.
	ReasonCanaryConflict = "CanaryConflict"
	// ReasonUnschedulable: no node takes the canary.
	ReasonUnschedulable = "Unschedulable"
	// ReasonForbidden: the operator may not do this to the target.
	ReasonForbidden = "Forbidden"
	// ReasonWriteRefused: the API server refuses what the ChaosPod does for another reason than a missing right, such as a
	// pod that it calls invalid, or a webhook that cannot be called; also a reason of Stalled.
	ReasonWriteRefused = "WriteRefused"
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
	ReasonProbesInconclusive = "ProbesInconclusive"
)

// Reasons of Running.
const (
	// ReasonKilling: victims are being killed.
	ReasonKilling = "Killing"
	// ReasonVerifying: the owners of the victims have yet to recover.
	ReasonVerifying = "Verifying"
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
	// ReasonNoRun: no run has been verified yet; a reason of Survived.
	ReasonNoRun = "NoRun"
)

// Reasons of runs and victims, beside those of Held and Stalled.
const (
	// ReasonSuspended: spec.suspend is true; also a reason of the condition Suspended.
	ReasonSuspended = "Suspended"
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
