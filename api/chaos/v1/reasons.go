// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Reasons of a ChaosPod, by the first condition or entry of the status that has them. Reasons explains each.
const (
	ReasonScheduled      = "Scheduled"
	ReasonCompleted      = "Completed"
	ReasonNoTarget       = "NoTarget"
	ReasonCanaryConflict = "CanaryConflict"
	ReasonUnschedulable  = "Unschedulable"
	ReasonForbidden      = common.ReasonForbidden
	ReasonWriteRefused   = common.ReasonWriteRefused
	ReasonInvalidSpec    = common.ReasonInvalidSpec

	ReasonNothingPending     = common.ReasonNothingPending
	ReasonOutsideWindow      = "OutsideWindow"
	ReasonBlackout           = "Blackout"
	ReasonRestartInProgress  = "RestartInProgress"
	ReasonFaultInjected      = "FaultInjected"
	ReasonUnstable           = "Unstable"
	ReasonTooFewReady        = "TooFewReady"
	ReasonDailyLimit         = "DailyLimit"
	ReasonBudgetBlocked      = "BudgetBlocked"
	ReasonNoCandidate        = "NoCandidate"
	ReasonUnknown            = "Unknown"
	ReasonConcurrencyLimit   = "ConcurrencyLimit"
	ReasonProbesInconclusive = common.ReasonProbesInconclusive

	ReasonKilling   = "Killing"
	ReasonVerifying = "Verifying"
	ReasonIdle      = common.ReasonIdle
	ReasonWaiting   = common.ReasonWaiting
	ReasonHalted    = common.ReasonHalted
	ReasonSuspended = common.ReasonSuspended

	ReasonRecovered             = "Recovered"
	ReasonRecoveryFailed        = "RecoveryFailed"
	ReasonProbesFailed          = "ProbesFailed"
	ReasonNoRun                 = "NoRun"
	ReasonEvictionMisconfigured = "EvictionMisconfigured"

	ReasonSpecChanged = "SpecChanged"
	ReasonDeleting    = common.ReasonDeleting
	ReasonTimedOut    = "TimedOut"
	ReasonTargetGone  = "TargetGone"
	ReasonCountZero   = "CountZero"

	ReasonSuspendedBySpec = common.ReasonSuspendedBySpec
	ReasonNotSuspended    = common.ReasonNotSuspended
)

// Reasons of Events. Events use reasons of Ready as well.
const (
	EventChaosPlanned         = "ChaosPlanned"
	EventChaosWaiting         = "ChaosWaiting"
	EventChaosMissed          = "ChaosMissed"
	EventChaosDryRun          = "ChaosDryRun"
	EventChaosBlockedByBudget = "ChaosBlockedByBudget"
	EventPodEvicted           = "PodEvicted"
	EventPodDeleted           = "PodDeleted"
	EventRecovered            = ReasonRecovered
	EventRecoveryFailed       = ReasonRecoveryFailed
	EventProbesFailed         = ReasonProbesFailed
	EventRunFailed            = "RunFailed"
	EventHalted               = ReasonHalted
	EventHaltEnded            = "HaltEnded"
)

// Reasons explains each reason of a ChaosPod.
var Reasons = []common.Reason{
	{On: "Ready=True", Name: ReasonScheduled, Meaning: "Runs can take place; a run that waits or failed does not change this."},
	{On: "Ready=True Progressing=False", Name: ReasonCompleted,
		Meaning: "The only run of the schedule is over.",
		Remedy:  "Change spec.schedule for another run.", Verb: "fairlead run"},
	{On: "Ready=Unknown Waiting=True", Name: ReasonUnknown,
		Meaning: "Something about the target cannot be read, and no pod is killed meanwhile.",
		Remedy:  "Let the operator read what the message names."},
	{On: "Ready=False Waiting=True", Name: ReasonNoTarget,
		Meaning: "The target does not exist or has no pods.",
		Remedy:  "Create the workload, or correct spec.target."},
	{On: "Ready=False", Name: ReasonCanaryConflict,
		Meaning: "Another pod has the name of the canary; it stays as it is.",
		Remedy:  "Delete or rename that pod, or the ChaosPod."},
	{On: "Ready=False", Name: ReasonUnschedulable,
		Meaning: "No node takes the canary, for the cause in the message of the scheduler.",
		Remedy:  "Make room on the nodes, or correct spec.target.template."},
	{On: "Ready=False Stalled=True", Name: ReasonForbidden,
		Meaning: "A right is missing, no user with the rights approved the spec, or no pod of the namespace may be killed.",
		Remedy:  "Grant the right that the message names, or apply the object again as a user who has the rights."},
	{On: "Ready=False Stalled=True", Name: ReasonWriteRefused,
		Meaning: "The API server refuses what the ChaosPod does, for another reason than a missing right.",
		Remedy:  "Change the quota, admission policy or webhook that the message names, or the pod template that it refuses."},
	common.InvalidSpec,

	common.NothingPending,
	{On: "Waiting=True", Name: ReasonOutsideWindow,
		Meaning: "No window is open.",
		Remedy:  "Wait for a window, or change spec.windows."},
	{On: "Waiting=True", Name: ReasonBlackout,
		Meaning: "A blackout of the ChaosPod or of the cluster is in effect.",
		Remedy:  "Wait for its end, or remove the blackout."},
	{On: "Waiting=True", Name: ReasonRestartInProgress,
		Meaning: "A RebootPolicy restarts the workload or verifies a restart, or another ChaosPod disrupts it.",
		Remedy:  "Wait for its end."},
	{On: "Waiting=True", Name: ReasonFaultInjected,
		Meaning: "A fault is injected into an ExternalService that the workload depends on.",
		Remedy:  "Wait for the end of the fault, or end it."},
	{On: "Waiting=True", Name: ReasonUnstable,
		Meaning: "The workload is rolling out.",
		Remedy:  "Wait for the rollout, or correct it.", Verb: "kubectl rollout status"},
	{On: "Waiting=True", Name: ReasonTooFewReady,
		Meaning: "Fewer pods would be ready than safety.minReady requires.",
		Remedy:  "Add replicas, or lower safety.minReady."},
	{On: "Waiting=True", Name: ReasonDailyLimit,
		Meaning: "safety.maxPerDay is reached; runs go on the next day (UTC).",
		Remedy:  "Wait for the next day, or raise safety.maxPerDay."},
	{On: "Waiting=True History", Name: ReasonBudgetBlocked,
		Meaning: "Disruption budgets allowed no eviction in the last run; they would block a drain of the node as well.",
		Remedy:  "Change the PodDisruptionBudget, or add replicas."},
	{On: "Waiting=True History", Name: ReasonNoCandidate,
		Meaning: "No pod is eligible, such as one that is ready and older than filter.minAge.",
		Remedy:  "Wait, or change spec.filter."},
	{On: "Waiting=True", Name: ReasonConcurrencyLimit,
		Meaning: "As many workloads of the cluster are disrupted as rebootPolicies.maxRestarts of the operator allows.",
		Remedy:  "Wait for another disruption to end, or raise the limit."},
	common.ProbesInconclusive,

	{On: "Progressing=True", Name: ReasonKilling, Meaning: "Pods are being killed."},
	{On: "Progressing=True", Name: ReasonVerifying,
		Meaning: "The workloads of the victims are watched until they recover or their time is over."},
	{On: "Progressing=False", Name: ReasonInvalidSpec,
		Meaning: "No run begins, since the stored spec breaks a rule.",
		Remedy:  "Correct the field that Ready names."},
	{On: "Progressing=False", Name: ReasonIdle, Meaning: "No run is due."},
	{On: "Progressing=False", Name: ReasonWaiting, Meaning: "A run is due; Waiting has the reason for which it has not begun."},
	{On: "Progressing=False Event=Warning", Name: ReasonHalted,
		Meaning: "No run begins until you act.",
		Remedy:  "Correct the cause that Stalled names, and then retry.", Verb: "fairlead retry"},
	{On: "Progressing=False History", Name: ReasonSuspended,
		Meaning: "No run begins while spec.suspend is true.",
		Remedy:  "Set spec.suspend to false."},

	{On: "Survived=True Event=Normal", Name: ReasonRecovered, Meaning: "The target recovered in time after the last run and stayed ready."},
	{On: "Survived=False Stalled=True History Event=Warning", Name: ReasonRecoveryFailed,
		Meaning: "The target did not recover in time or did not stay ready; with onFailure Halt, no run begins until you act.",
		Remedy:  "Make sure that the target is available, and correct why it did not recover.", Verb: "fairlead retry"},
	{On: "Survived=False Stalled=True Waiting=True History Event=Warning", Name: ReasonProbesFailed,
		Meaning: "More requests of verification.probes failed than maxFailures allows, or none succeeded before the run, which then kills nothing.",
		Remedy: "Check how the pods start and end (readiness, preStop, terminationGracePeriodSeconds), " +
			"or why no request could be sent.", Verb: "fairlead retry"},
	{On: "Survived=Unknown", Name: ReasonNoRun,
		Meaning: "No run was verified yet, or none since spec.target was changed.",
		Remedy:  "Set spec.dryRun to false, and wait for a run.", Verb: "fairlead run"},
	{On: "Stalled=True History", Name: ReasonEvictionMisconfigured,
		Meaning: "Several disruption budgets match one pod, which the eviction API refuses.",
		Remedy:  "Change the selectors so that one PodDisruptionBudget matches each pod.", Verb: "fairlead retry"},
	common.SuspendedBySpec, common.NotSuspended,

	{On: "History", Name: ReasonSpecChanged,
		Meaning: "The run ended, since the spec changed after its victims were chosen.",
		Remedy:  "Wait for the next run.", Verb: "fairlead run"},
	{On: "History", Name: ReasonDeleting, Meaning: "The ChaosPod is being deleted."},
	{On: "History", Name: ReasonTimedOut,
		Meaning: "The pod could not be killed in time.",
		Remedy:  "Check what keeps the pod, such as a PodDisruptionBudget.", Verb: "fairlead run"},
	{On: "History", Name: ReasonTargetGone,
		Meaning: "The workload was deleted or scaled down before it recovered, so the run proves nothing.",
		Remedy:  "Wait for the next run.", Verb: "fairlead run"},
	{On: "History", Name: ReasonCountZero,
		Meaning: "spec.count makes no whole pod.",
		Remedy:  "Raise spec.count, or add replicas."},

	{On: "Event=Normal", Name: EventChaosPlanned,
		Meaning: "A run begins; its victims are stored in the status before any of them is killed."},
	{On: "Event=Normal", Name: EventChaosWaiting, Meaning: "A run that is due waits."},
	{On: "Event=Normal", Name: EventChaosMissed,
		Meaning: "A run killed nothing: it waited past its starting deadline, the spec changed, or no pod could be killed."},
	common.RequestIgnored, common.ClockSkew,
	{On: "Event=Normal", Name: EventChaosDryRun, Meaning: "A dry run ended; the message names the pods that would have been killed."},
	{On: "Event=Normal", Name: EventChaosBlockedByBudget,
		Meaning: "A PodDisruptionBudget protects a pod, and another pod is tried.",
		Remedy:  "Change the PodDisruptionBudget if the pod should be evicted."},
	{On: "Event=Normal", Name: EventPodEvicted, Meaning: "A pod was evicted."},
	{On: "Event=Normal", Name: EventPodDeleted, Meaning: "A pod was deleted."},
	{On: "Event=Warning", Name: EventRunFailed,
		Meaning: "A run ended without a verdict, such as for a missing right.",
		Remedy:  "Correct what the message names."},
	common.StatusLost, common.StatusRefused,
	{On: "Event=Normal", Name: EventHaltEnded, Meaning: "A user ended the halt, and runs go on."},
}
