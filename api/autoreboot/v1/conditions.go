// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of conditions. All but Stalled are present from the first reconcile on.
const (
	// ConditionReady says whether the policy watches all that its spec names.
	ConditionReady = common.ConditionReady
	// ConditionWaiting is true while a restart is due and may not start yet, and says what for.
	ConditionWaiting = common.ConditionWaiting
	// ConditionProgressing is true while a restart is in flight. Its reason is the state of the policy in one word.
	ConditionProgressing = common.ConditionProgressing
	// ConditionVerified is the verdict on the latest restart; it is unknown until there is one.
	ConditionVerified = "Verified"
	// ConditionStalled is true while the policy waits for a person.
	ConditionStalled = common.ConditionStalled
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = common.ConditionSuspended
	// ConditionDisruptionBudgetBlocks is true while the policy evicts, and a ChaosPod has found that a
	// disruption budget lets no pod of a target go although all are ready.
	ConditionDisruptionBudgetBlocks = "DisruptionBudgetBlocks"
)

// The reasons of Ready.
const (
	// ReasonWatching goes with true, all others with false.
	ReasonWatching = "Watching"
	// ReasonDeleting says that the policy is being deleted, and restarts nothing.
	ReasonDeleting       = common.ReasonDeleting
	ReasonTargetNotFound = "TargetNotFound"
	ReasonSourceNotFound = "SourceNotFound"
	// ReasonProbeUnavailable says that a Probe trigger never fires: the egress policy refuses its address, or it
	// is a command.
	ReasonProbeUnavailable = "ProbeUnavailable"
	// ReasonForbidden says that the operator may not read or restart what the policy names.
	ReasonForbidden = common.ReasonForbidden
	// ReasonWriteRefused says that the API server refuses a restart, as by an admission policy, a webhook or a quota. It is a
	// reason of Waiting as well.
	ReasonWriteRefused = common.ReasonWriteRefused
	// ReasonTooManyTargets says that the policy selects more workloads than it can watch. It does not restart
	// the others.
	ReasonTooManyTargets = "TooManyTargets"
)

// The reasons of Waiting.
const (
	// ReasonNothingPending goes with false, all others with true.
	ReasonNothingPending = common.ReasonNothingPending
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
	// ReasonApprovalRequired waits for a person to approve the restart.
	ReasonApprovalRequired = "ApprovalRequired"
	// ReasonConcurrencyLimit waits for another restart to end.
	ReasonConcurrencyLimit = "ConcurrencyLimit"
	// ReasonChaosActive waits for a ChaosPod's run, or another policy's restart, on the same
	// workload to end.
	ReasonChaosActive = "ChaosActive"
	// ReasonBackoff waits for the time of a retry.
	ReasonBackoff = "Backoff"
	// ReasonLowerWave waits for the targets of a lower wave.
	ReasonLowerWave = "LowerWave"
	// ReasonRolloutInProgress waits for a rollout that another user or controller began.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonReplicaFailure and ReasonUnschedulable say that the workload has fewer pods than it should: they are refused, as by
	// a quota, or find no node. The message has the words of Kubernetes.
	ReasonReplicaFailure = "ReplicaFailure"
	ReasonUnschedulable  = "Unschedulable"
	// ReasonPaused waits for the workload's spec.paused to be false, or for the strategy of a Rollout to be promoted or aborted.
	ReasonPaused = "Paused"
	// ReasonDegraded says that a Rollout has aborted its latest revision, or has a spec that its controller does not take.
	ReasonDegraded = "Degraded"
	// ReasonScaledToZero says that the workload has no pods to restart.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonOnDelete says that the workload rolls out by hand alone: use Evict.
	ReasonOnDelete = "OnDelete"
	// ReasonPartitioned says that the StatefulSet's partition keeps every pod as it is.
	ReasonPartitioned = "Partitioned"
	// ReasonSourceMissing says that a ConfigMap or Secret, or a key of one, is missing that new pods could not start
	// without.
	ReasonSourceMissing = "SourceMissing"
	// ReasonUnknown says that something cannot be read that must be known before a restart starts: the workload, its pods,
	// or what new pods need.
	ReasonUnknown = "Unknown"
	// ReasonSourceUnknown says that none of the sources of the restart can be observed now.
	ReasonSourceUnknown = "SourceUnknown"
	// ReasonTerminating says that the workload is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonProbesInconclusive says that so many checks fail at once that the fault is probably the operator's.
	ReasonProbesInconclusive = common.ReasonProbesInconclusive
	// ReasonHalted waits for a user to act: see Stalled.
	ReasonHalted = common.ReasonHalted
	// ReasonSuspended waits for spec.suspend to be false.
	ReasonSuspended = common.ReasonSuspended
	// ReasonDryRun says that the restart would start now if dryRun were false.
	ReasonDryRun = "DryRun"
)

// ReasonSettling is that of a trigger whose addresses have changed and must stay for a while.
const ReasonSettling = "Settling"

// The reasons of Progressing: the phase of the restart in flight that has come least far, and without one these, Suspended or
// Halted.
const (
	// ReasonIdle has nothing to do.
	ReasonIdle = common.ReasonIdle
	// ReasonWaiting has a restart that waits: see the condition Waiting.
	ReasonWaiting = common.ReasonWaiting
	// ReasonFailed says that the latest restart failed, and that nothing is to follow.
	ReasonFailed = "Failed"
)

// The reasons of Verified and of the records in history.
const (
	// ReasonNoRestart says that no restart has ended yet.
	ReasonNoRestart = "NoRestart"
	// ReasonStayedAvailable says that the restart was verified: its pods stayed available through the soak.
	ReasonStayedAvailable = "StayedAvailable"
	// ReasonNewerPods says that every pod had been made after the change.
	ReasonNewerPods = "NewerPods"
	// ReasonTimedOut says that the workload was not available in time.
	ReasonTimedOut = "TimedOut"
	// ReasonContentChanged says that no pod of the rollout had become ready for a minute, and that the content had changed: a
	// restart for the new content follows.
	ReasonContentChanged = "ContentChanged"
	// ReasonNodeUnreachable says that a rollout waited for nothing but pods that could neither become ready nor end, such as on
	// a node that is not ready.
	ReasonNodeUnreachable = "NodeUnreachable"
	// ReasonContainerRestarts says that containers restarted more often than is forgiven.
	ReasonContainerRestarts = "ContainerRestarts"
	// ReasonUnavailable says that the workload did not stay available through the soak.
	ReasonUnavailable = "Unavailable"
	// ReasonProbesFailed says that more requests of verification.probes failed than may, or that none could be sent.
	ReasonProbesFailed = "ProbesFailed"
	// ReasonEvictionBlocked says that a disruption budget refused an eviction for too long.
	ReasonEvictionBlocked = "EvictionBlocked"
	// ReasonEvictionMisconfigured says that the eviction API cannot decide, such as for a pod with
	// more than one disruption budget.
	ReasonEvictionMisconfigured = "EvictionMisconfigured"
	// ReasonTargetGone says that the workload was deleted or recreated.
	ReasonTargetGone = "TargetGone"
	// ReasonUnselected says that the policy does not select the workload any more, and its restart was not begun or has timed
	// out: the workload is owed it where it is selected again.
	ReasonUnselected = "Unselected"
	// ReasonStartingDeadline says that a scheduled run could not start in time.
	ReasonStartingDeadline = "StartingDeadline"
)

// The reasons of Stalled, beside Forbidden and TooManyTargets of Ready.
const (
	// ReasonVerificationFailed follows a failed restart with onFailure Halt.
	ReasonVerificationFailed = "VerificationFailed"
	// ReasonLimitReached says that a target has used up limit.maxRestarts.
	ReasonLimitReached = "LimitReached"
	// ReasonTargetReverted says that the workload's owner reverts the restart: use Evict.
	ReasonTargetReverted = "TargetReverted"
	// ReasonInvalidSpec says that the stored spec breaks a rule; it goes with Ready as well.
	ReasonInvalidSpec = common.ReasonInvalidSpec
)

// The reasons of DisruptionBudgetBlocks.
const (
	// ReasonNoDisruptionsAllowed goes with true: a budget lets no pod go although all are ready.
	ReasonNoDisruptionsAllowed = "NoDisruptionsAllowed"
	// ReasonNotObserved goes with false: no run of a ChaosPod has found such a budget.
	ReasonNotObserved = "NotObserved"
	// ReasonNotEvicting goes with false: budgets do not bind a restart that evicts no pod.
	ReasonNotEvicting = "NotEvicting"
)

// The reasons of Suspended.
const (
	ReasonSuspendedBySpec = common.ReasonSuspendedBySpec
	ReasonNotSuspended    = common.ReasonNotSuspended
)

// The annotations that a user sets on a policy.
const (
	// ResumeAnnotation ends a halt. Its value is a common.Token.
	ResumeAnnotation = "autoreboot.fairlead.dev/resume"
	// RestartNowAnnotation requests one restart of every target. Its value is a common.Token.
	RestartNowAnnotation = "autoreboot.fairlead.dev/restart-now"
	// ApproveAnnotation approves the restarts that wait for it. Its value is status.pendingApproval.
	ApproveAnnotation = "autoreboot.fairlead.dev/approve"
	// OnInjectedFaultAnnotation says what the policy does while a fault is injected on purpose into an
	// ExternalService that a gate or trigger of it names: Hold (the default) begins no restart and takes
	// nothing of the fault for a change, Restart does what it would do if the fault were real.
	OnInjectedFaultAnnotation = "autoreboot.fairlead.dev/on-injected-fault"
	// OnInjectedFaultHold and OnInjectedFaultRestart are its values.
	OnInjectedFaultHold    = "Hold"
	OnInjectedFaultRestart = "Restart"
)

// VerbApprove is the verb that a user needs on RebootPolicies, beside patch, to approve a restart, and to remove the gate that
// waits for it.
const VerbApprove = "approve"

const (
	// RestartIDAnnotation is on the pod template of a workload that a policy restarted.
	RestartIDAnnotation = "autoreboot.fairlead.dev/restart-id"
	// PausedByAnnotation is on a Deployment whose rollout a policy has paused for a time, with the policy's name.
	PausedByAnnotation = "autoreboot.fairlead.dev/paused-by"
	// RestartNowTrigger is the name under which RestartNowAnnotation is listed among triggers. No
	// trigger of a spec can have it.
	RestartNowTrigger = "RestartNow"
)
