// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Reasons of a RebootPolicy, by the first condition or entry of the status that has them. Reasons explains each.
const (
	ReasonWatching         = "Watching"
	ReasonDeleting         = common.ReasonDeleting
	ReasonTargetNotFound   = "TargetNotFound"
	ReasonSourceNotFound   = "SourceNotFound"
	ReasonProbeUnavailable = "ProbeUnavailable"
	ReasonForbidden        = common.ReasonForbidden
	ReasonWriteRefused     = common.ReasonWriteRefused
	ReasonTooManyTargets   = "TooManyTargets"
	ReasonInvalidSpec      = common.ReasonInvalidSpec

	ReasonNothingPending     = common.ReasonNothingPending
	ReasonDebouncing         = "Debouncing"
	ReasonOutsideWindow      = "OutsideWindow"
	ReasonBlackout           = "Blackout"
	ReasonCooldown           = "Cooldown"
	ReasonGateClosed         = "GateClosed"
	ReasonApprovalRequired   = "ApprovalRequired"
	ReasonConcurrencyLimit   = "ConcurrencyLimit"
	ReasonChaosActive        = "ChaosActive"
	ReasonBackoff            = "Backoff"
	ReasonLowerWave          = "LowerWave"
	ReasonRolloutInProgress  = "RolloutInProgress"
	ReasonReplicaFailure     = "ReplicaFailure"
	ReasonUnschedulable      = "Unschedulable"
	ReasonPaused             = "Paused"
	ReasonDegraded           = "Degraded"
	ReasonScaledToZero       = "ScaledToZero"
	ReasonOnDelete           = "OnDelete"
	ReasonPartitioned        = "Partitioned"
	ReasonSourceMissing      = "SourceMissing"
	ReasonUnknown            = "Unknown"
	ReasonSourceUnknown      = "SourceUnknown"
	ReasonTerminating        = "Terminating"
	ReasonProbesInconclusive = common.ReasonProbesInconclusive
	ReasonHalted             = common.ReasonHalted
	ReasonSuspended          = common.ReasonSuspended
	ReasonDryRun             = "DryRun"

	ReasonIdle    = common.ReasonIdle
	ReasonWaiting = common.ReasonWaiting
	ReasonFailed  = "Failed"

	ReasonNoRestart             = "NoRestart"
	ReasonStayedAvailable       = "StayedAvailable"
	ReasonNewerPods             = "NewerPods"
	ReasonTimedOut              = "TimedOut"
	ReasonContentChanged        = "ContentChanged"
	ReasonNodeUnreachable       = "NodeUnreachable"
	ReasonContainerRestarts     = "ContainerRestarts"
	ReasonUnavailable           = "Unavailable"
	ReasonProbesFailed          = "ProbesFailed"
	ReasonEvictionBlocked       = "EvictionBlocked"
	ReasonEvictionMisconfigured = "EvictionMisconfigured"
	ReasonTargetGone            = "TargetGone"
	ReasonUnselected            = "Unselected"
	ReasonStartingDeadline      = "StartingDeadline"

	ReasonVerificationFailed = "VerificationFailed"
	ReasonLimitReached       = "LimitReached"
	ReasonTargetReverted     = "TargetReverted"

	ReasonNoDisruptionsAllowed = "NoDisruptionsAllowed"
	ReasonNotObserved          = "NotObserved"
	ReasonNotEvicting          = "NotEvicting"

	ReasonSuspendedBySpec = common.ReasonSuspendedBySpec
	ReasonNotSuspended    = common.ReasonNotSuspended
)

// Reasons of a trigger (status.triggers[].reason).
const (
	ReasonSettling          = "Settling"
	ReasonNotServed         = "NotServed"
	ReasonVersionsDiffer    = "VersionsDiffer"
	ReasonUnreadable        = "Unreadable"
	ReasonNotACertificate   = "NotACertificate"
	ReasonKeyNotFound       = "KeyNotFound"
	ReasonTooManySources    = "TooManySources"
	ReasonPortNotFound      = "PortNotFound"
	ReasonNeverAnswered     = "NeverAnswered"
	ReasonHostUnresolved    = common.ReasonHostUnresolved
	ReasonDenied            = common.ReasonDenied
	ReasonSecretUnavailable = common.ReasonSecretUnavailable
	ReasonNoAddresses       = "NoAddresses"
)

// Reasons of Events. Events use reasons of Ready as well.
const (
	EventRestartExpected   = "RestartExpected"
	EventTriggerRecovered  = "TriggerRecovered"
	EventRestartWaiting    = "RestartWaiting"
	EventRestartRefused    = "RestartRefused"
	EventRestartPlanned    = "RestartPlanned"
	EventRestartStarted    = "RestartStarted"
	EventRestartVerified   = "RestartVerified"
	EventRestartFailed     = "RestartFailed"
	EventRestartSuperseded = "RestartSuperseded"
	EventTargetReverted    = ReasonTargetReverted
	EventLimitReached      = ReasonLimitReached
	EventStatusKept        = "StatusKept"
	EventPodsOutdated      = "PodsOutdated"
	EventApprovalRequired  = ReasonApprovalRequired
	EventRestartApproved   = "RestartApproved"
	EventReverted          = "Reverted"
)

// Reasons of Ready of a ClusterRebootPolicy.
const (
	ClusterReasonInStep            = "InStep"
	ClusterReasonNotInStep         = "NotInStep"
	ClusterReasonNameTaken         = "NameTaken"
	ClusterReasonChangedRepeatedly = "ChangedRepeatedly"
)

// Reasons explains each reason of a RebootPolicy. Those of Waiting are in the order in which they are checked: the
// first that applies is reported.
var Reasons = []common.Reason{
	{On: "Ready=True", Name: ReasonWatching,
		Meaning: "Everything that the policy names is watched; a restart that waits or failed does not change this."},
	{On: "Ready=False", Name: ReasonTargetNotFound,
		Meaning: "A named workload does not exist, or a selector matches none; the policy goes on with the others.",
		Remedy:  "Create the workload, or correct spec.targets."},
	{On: "Ready=False", Name: ReasonSourceNotFound,
		Meaning: "A source that the spec lists and that is not optional does not exist, or a SecretProviderClass cannot be watched.",
		Remedy:  "Create the source that the message names, correct its name, or set optional to true."},
	{On: "Ready=False", Name: ReasonProbeUnavailable,
		Meaning: "A Probe trigger cannot fire: its host, port or Secret cannot be used, or its check has never succeeded.",
		Remedy:  "Correct the probe of the trigger that the message names."},
	{On: "Ready=False Stalled=True", Name: ReasonTooManyTargets,
		Meaning: "The policy selects more than 100 workloads, 64 sources of a workload, or 1,000 sources; the rest is not watched.",
		Remedy:  "Split the policy, or narrow the selectors of spec.targets and spec.triggers."},
	common.InvalidSpec,
	{On: "Ready=False Progressing=False", Name: ReasonDeleting,
		Meaning: "The policy is being deleted and restarts nothing.",
		Remedy:  "Remove the finalizers that the message names if their owner is gone."},

	common.NothingPending,
	{On: "Waiting=True Progressing=False History", Name: ReasonSuspended,
		Meaning: "No restart starts while spec.suspend is true.",
		Remedy:  "Set spec.suspend to false."},
	{On: "Waiting=True Progressing=False", Name: ReasonHalted,
		Meaning: "No restart starts until you retry, or the content of the workload whose restart failed changes.",
		Remedy:  "Correct the cause that Stalled names, and then retry.", Verb: "fairlead retry"},
	{On: "Ready=Unknown Waiting=True", Name: ReasonUnknown,
		Meaning: "A workload, its pods or its sources cannot be read; its restart neither starts nor ends, and the other workloads go on.",
		Remedy:  "Let the operator read what the message names."},
	{On: "Waiting=True", Name: ReasonPaused,
		Meaning: "The workload is paused, by spec.paused or by the strategy of a Rollout.",
		Remedy:  "Resume the rollout of a Deployment, or promote the Rollout with `kubectl argo rollouts promote`.",
		Verb:    "kubectl rollout resume"},
	{On: "Waiting=True", Name: ReasonDegraded,
		Meaning: "The Rollout aborted its latest revision or has a spec that its controller refuses, or a workload lacks a field of the configuration.",
		Remedy:  "Retry the revision, restore the pod template, or correct the spec that the message names."},
	{On: "Waiting=True", Name: ReasonScaledToZero,
		Meaning: "The workload has no pods to restart; new pods start with the new content.",
		Remedy:  "Scale the workload up if it should run.", Verb: "kubectl scale"},
	{On: "Waiting=True", Name: ReasonOnDelete,
		Meaning: "The update strategy of the workload is OnDelete, so its pods are replaced by hand.",
		Remedy:  "Set spec.strategy.type to Evict, or delete the pods."},
	{On: "Waiting=True", Name: ReasonPartitioned,
		Meaning: "The partition of the StatefulSet keeps every pod as it is.",
		Remedy:  "Lower the partition, or set spec.strategy.type to Evict."},
	{On: "Waiting=True", Name: ReasonTerminating, Meaning: "The workload is being deleted."},
	{On: "Waiting=True", Name: ReasonSourceUnknown,
		Meaning: "What asked for the restart cannot be observed, so the restart may not be needed.",
		Remedy:  "Let the operator read the source; status.triggers has the reason."},
	{On: "Ready=False Waiting=True Stalled=True Trigger", Name: ReasonForbidden,
		Meaning: "The operator, or the ServiceAccount of the policy, lacks a right, or no user with the rights approved the spec.",
		Remedy:  "Grant the right that the message names, or apply the policy again as a user who has the rights."},
	{On: "Ready=False Waiting=True Stalled=True", Name: ReasonWriteRefused,
		Meaning: "The API server refuses a restart; it is tried again after a minute, holds no other workload, and uses up no attempt.",
		Remedy:  "Change the quota, admission policy or webhook that the message names."},
	{On: "Waiting=True", Name: ReasonDebouncing,
		Meaning: "The policy waits for further changes, so that one restart covers all of them.",
		Remedy:  "Wait for debounce.quietPeriod.", Verb: "fairlead restart"},
	{On: "Waiting=True Event=Normal", Name: ReasonApprovalRequired,
		Meaning: "A gate holds each restart until a user with the right to approve the policy approves it.",
		Remedy:  "Have a user with the right read and approve the restart; a later restart needs another approval.", Verb: "fairlead approve"},
	{On: "Waiting=True", Name: ReasonReplicaFailure,
		Meaning: "Pods of the workload are refused, such as by a quota, so a restart could replace none.",
		Remedy:  "Make room as the message says.", Verb: "fairlead restart"},
	{On: "Waiting=True", Name: ReasonUnschedulable,
		Meaning: "Pods of the workload find no node, so a restart could replace none.",
		Remedy:  "Make room as the message says.", Verb: "fairlead restart"},
	{On: "Waiting=True", Name: ReasonRolloutInProgress,
		Meaning: "Another user or controller rolls out the workload; the restart follows if it is still needed, or the rollout makes no progress.",
		Remedy:  "Wait for the rollout, which `kubectl rollout status` shows.", Verb: "fairlead restart"},
	{On: "Waiting=True", Name: ReasonBackoff,
		Meaning: "A restart failed, and its next attempt for the same content is not due yet; new content does not wait.",
		Remedy:  "Correct the cause that Verified names.", Verb: "fairlead restart"},
	{On: "Waiting=True", Name: ReasonCooldown,
		Meaning: "The workload was restarted within spec.cooldown, and the next restart is not for new content.",
		Remedy:  "Wait for spec.cooldown.", Verb: "fairlead restart"},
	{On: "Waiting=True", Name: ReasonBlackout,
		Meaning: "A blackout of the policy or of the cluster is in effect.",
		Remedy:  "Wait until status.nextAllowedTime, or remove the blackout."},
	{On: "Waiting=True", Name: ReasonOutsideWindow,
		Meaning: "No window of the policy is open.",
		Remedy:  "Wait until status.nextAllowedTime, or change spec.windows.", Verb: "fairlead restart"},
	{On: "Waiting=True", Name: ReasonGateClosed,
		Meaning: "A gate of the policy is closed, or a fault is injected into an ExternalService that the policy depends on.",
		Remedy:  "Correct what the message names, or change spec.gates."},
	common.ProbesInconclusive,
	{On: "Waiting=True", Name: ReasonSourceMissing,
		Meaning: "A ConfigMap or Secret, or a key of one, is missing that new pods cannot start without.",
		Remedy:  "Create what the message names."},
	{On: "Waiting=True", Name: ReasonLowerWave,
		Meaning: "Workloads of a lower wave are restarted and verified first.",
		Remedy:  "Wait for them, or read status.targets for what holds them."},
	{On: "Waiting=True", Name: ReasonChaosActive,
		Meaning: "A ChaosPod or another policy disrupts the same workload.",
		Remedy:  "Wait for its end."},
	{On: "Waiting=True", Name: ReasonConcurrencyLimit,
		Meaning: "As many workloads are restarted as spec.concurrency or rebootPolicies.maxRestarts of the operator allows.",
		Remedy:  "Wait for another restart to end, or raise the limit."},
	{On: "Waiting=True History", Name: ReasonDryRun,
		Meaning: "The restart would start now if spec.dryRun were false.",
		Remedy:  "Set spec.dryRun to false."},

	{On: "Progressing=False", Name: ReasonInvalidSpec,
		Meaning: "No restart starts, since the stored spec breaks a rule.",
		Remedy:  "Correct the field that Ready names."},
	{On: "Progressing=False", Name: ReasonIdle, Meaning: "No restart is due."},
	{On: "Progressing=False", Name: ReasonWaiting, Meaning: "A restart is due; Waiting has the reason for which it has not started."},
	{On: "Progressing=False", Name: ReasonFailed,
		Meaning: "The latest restart failed, and no further attempt follows.",
		Remedy:  "Correct the cause that Verified names.", Verb: "fairlead restart"},
	{On: "Target", Name: string(PhasePlanned), Meaning: "The restart is planned and starts next."},
	{On: "Progressing=True", Name: string(PhaseRollingOut),
		Meaning: "The controller of the workload replaces its pods.",
		Remedy:  "Wait for the rollout.", Verb: "kubectl rollout status"},
	{On: "Progressing=True", Name: string(PhaseEvicting),
		Meaning: "Pods are evicted one after the other, as disruption budgets allow.",
		Remedy:  "Wait; if a budget refuses, change the PodDisruptionBudget that the message names."},
	{On: "Progressing=True", Name: string(PhaseSoaking),
		Meaning: "All pods are new and available, and are watched for verification.soak."},

	{On: "Verified=Unknown", Name: ReasonNoRestart, Meaning: "No restart has ended yet."},
	{On: "Verified=True History", Name: ReasonStayedAvailable,
		Meaning: "The latest restart succeeded: its pods stayed available through the soak."},
	{On: "Verified=Unknown History", Name: ReasonNewerPods,
		Meaning: "Another rollout replaced the pods after the change, so no restart was needed."},
	{On: "Verified=False History", Name: ReasonTimedOut,
		Meaning: "The restart was not complete and available within verification.timeout, which begins again with each new pod.",
		Remedy:  "Correct what the message says that the pods waited for.", Verb: "fairlead restart"},
	{On: "Verified=False History", Name: ReasonNodeUnreachable,
		Meaning: "The rollout waited only for pods whose node is not ready or gone; it counts as no failed attempt.",
		Remedy:  "Repair or remove the node; the controller of the workload then goes on."},
	{On: "Verified=False History", Name: ReasonUnavailable,
		Meaning: "The workload became available and did not stay so through the soak.",
		Remedy:  "Read the events and logs of its pods, and correct the cause.", Verb: "fairlead restart"},
	{On: "Verified=False History", Name: ReasonContainerRestarts,
		Meaning: "Containers restarted more often than verification.maxContainerRestarts after their pod was first ready.",
		Remedy:  "Read the logs of the previous containers, and correct the cause.", Verb: "fairlead restart"},
	{On: "Verified=False Stalled=True Event=Warning", Name: ReasonTargetReverted,
		Meaning: "The owner of the workload, such as a GitOps tool, reverted the restart.",
		Remedy:  "Set spec.strategy.type to Evict, or let the tool ignore annotations of the pod template.", Verb: "fairlead retry"},
	{On: "Verified=False History", Name: ReasonTargetGone, Meaning: "The workload was deleted or recreated during the restart."},
	{On: "Verified=False History", Name: ReasonContentChanged,
		Meaning: "The rollout made no progress for a minute, and the content changed; a restart for the new content follows."},
	{On: "Verified=False History", Name: ReasonUnselected,
		Meaning: "The policy no longer selects the workload; the restart is done if the workload is selected again.",
		Remedy:  "Select the workload in spec.targets if it should be restarted."},
	{On: "Verified=False History", Name: ReasonProbesFailed,
		Meaning: "More requests of verification.probes failed during the restart than maxFailures allows, or none could be sent.",
		Remedy: "Check how the pods start and end (readiness, preStop, terminationGracePeriodSeconds, maxUnavailable), " +
			"or why no request could be sent.", Verb: "fairlead retry"},
	{On: "Verified=False History", Name: ReasonEvictionBlocked,
		Meaning: "A disruption budget refused the eviction for longer than strategy.evict.timeout.",
		Remedy:  "Change the PodDisruptionBudget that the message names, or add replicas.", Verb: "fairlead restart"},
	{On: "Verified=False Stalled=True History", Name: ReasonEvictionMisconfigured,
		Meaning: "The API server refuses every eviction, such as for a pod that two disruption budgets match.",
		Remedy:  "Change the selectors so that one PodDisruptionBudget matches each pod.", Verb: "fairlead retry"},
	{On: "History", Name: ReasonStartingDeadline,
		Meaning: "A scheduled restart could not start within startingDeadline and was skipped.",
		Remedy:  "Widen spec.windows or startingDeadline.", Verb: "fairlead restart"},

	{On: "Stalled=True", Name: ReasonVerificationFailed,
		Meaning: "A restart failed with onFailure Halt, and its attempts are used up.",
		Remedy:  "Correct the cause: new content of the workload or a change of the spec ends the halt.", Verb: "fairlead retry"},
	{On: "Stalled=True Event=Warning", Name: ReasonLimitReached,
		Meaning: "A workload reached limit.maxRestarts; no restart starts until you act.",
		Remedy:  "Find what restarts the workload so often, which the message names.", Verb: "fairlead retry"},
	common.SuspendedBySpec, common.NotSuspended,
	{On: "DisruptionBudgetBlocks=True", Name: ReasonNoDisruptionsAllowed,
		Meaning: "A run of a ChaosPod could evict no pod of a target although all were ready, so a restart would be refused as well.",
		Remedy:  "Change the PodDisruptionBudget that the message names, or add replicas."},
	{On: "DisruptionBudgetBlocks=False", Name: ReasonNotObserved, Meaning: "No run of a ChaosPod found a budget that refuses every eviction."},
	{On: "DisruptionBudgetBlocks=False", Name: ReasonNotEvicting, Meaning: "The policy evicts no pod, so disruption budgets do not apply."},

	{On: "Trigger", Name: ReasonSettling, Meaning: "Addresses changed, and ask for a restart if they stay."},
	{On: "Trigger", Name: ReasonNotServed,
		Meaning: "The API server does not serve the kind of the source.",
		Remedy:  "Install the CRD, such as that of the Secrets Store CSI driver."},
	{On: "Trigger", Name: ReasonVersionsDiffer,
		Meaning: "Each pod mounted versions of its own of a SecretProviderClass, so none counts as new.",
		Remedy:  "Exclude the SecretProviderClass from the trigger if its secrets are made for each mount."},
	{On: "Trigger", Name: ReasonUnreadable, Meaning: "The API server did not return the source, which is read again."},
	{On: "Trigger", Name: ReasonNotACertificate,
		Meaning: "The key of the source has no certificate that can be parsed.",
		Remedy:  "Store a PEM certificate under the key, or correct the key of the trigger."},
	{On: "Trigger", Name: ReasonKeyNotFound,
		Meaning: "The source lacks the key with the certificate.",
		Remedy:  "Add the key to the source, or correct the key of the trigger."},
	{On: "Trigger", Name: ReasonTooManySources,
		Meaning: "More sources are selected than the status or the operator has room for.",
		Remedy:  "Split the policy, or narrow the selectors of the trigger."},
	{On: "Trigger", Name: ReasonPortNotFound,
		Meaning: "No container of the pods has a port of the name that the probe uses.",
		Remedy:  "Correct the port of the probe, or name the port in the pod template."},
	{On: "Trigger", Name: ReasonNeverAnswered,
		Meaning: "The check fails and has not succeeded since the trigger exists or the workload was last restarted for it.",
		Remedy:  "Correct the probe of the trigger, or the NetworkPolicy between the operator and the pods."},
	{On: "Trigger", Name: ReasonHostUnresolved,
		Meaning: "The host of the probe does not resolve.",
		Remedy:  "Correct the host of the probe, or create its record."},
	{On: "Trigger", Name: ReasonDenied,
		Meaning: "The egress policy refuses the host of the probe.",
		Remedy:  "Correct the host, or have an administrator allow it in the egress policy (docs/guides/egress.md)."},
	{On: "Trigger", Name: ReasonSecretUnavailable,
		Meaning: "A Secret that the probe names cannot be used.",
		Remedy:  "Create the Secret with the key that the message names, or grant the operator the right to get it."},
	{On: "Trigger", Name: ReasonNoAddresses, Meaning: "The ExternalService has no address, which counts as an outage and not as a change."},
	{On: "Trigger", Name: ReasonUnknown, Meaning: "The health of the ExternalService is not known yet."},

	{On: "Event=Normal", Name: EventRestartExpected,
		Meaning: "The addresses of an ExternalService changed; a restart follows at the time in the message if they stay."},
	{On: "Event=Normal", Name: EventTriggerRecovered, Meaning: "A trigger no longer asks for a restart, and nothing was done."},
	{On: "Event=Normal", Name: EventRestartWaiting, Meaning: "The restart waits, for another reason than before."},
	{On: "Event=Warning", Name: EventRestartRefused,
		Meaning: "The API server refused the restart; the Event is repeated only when the message changes.",
		Remedy:  "Change what the message names."},
	{On: "Event=Normal", Name: EventRestartPlanned,
		Meaning: "The restart would start now if spec.dryRun were false.",
		Remedy:  "Set spec.dryRun to false."},
	{On: "Event=Normal", Name: EventRestartStarted, Meaning: "The restart began, for the triggers that the message names."},
	{On: "Event=Normal", Name: EventRestartVerified, Meaning: "The restart succeeded."},
	{On: "Event=Warning", Name: EventRestartFailed,
		Meaning: "The restart failed, for the reason in the message.",
		Remedy:  "Correct the cause that Verified names."},
	{On: "Event=Normal", Name: EventRestartSuperseded, Meaning: "The restart was no longer needed."},
	{On: "Event=Normal", Name: EventStatusKept,
		Meaning: "The policy was deleted and recreated within 5 minutes, and keeps its restarts in flight and those that are due."},
	common.ClockSkew,
	{On: "Event=Normal", Name: EventPodsOutdated,
		Meaning: "A source is new to the policy and was written after pods were created; they are not restarted for it.",
		Remedy:  "Restart the workload if its pods need the content.", Verb: "fairlead restart"},
	common.RequestIgnored,
	{On: "Event=Normal", Name: EventRestartApproved, Meaning: "The restarts that waited for an approval are approved."},
	common.StatusLost, common.StatusRefused,
	{On: "Event=Warning", Name: EventReverted,
		Meaning: "Another writer changed the policy, and its ClusterRebootPolicy reverted the change.",
		Remedy:  "Change spec.template of the ClusterRebootPolicy instead."},
}

// ClusterReasons explains each reason of a ClusterRebootPolicy.
var ClusterReasons = []common.Reason{
	{On: "Ready=True", Name: ClusterReasonInStep,
		Meaning: "Each selected namespace with a workload for the policy has the policy of the template."},
	{On: "Ready=False", Name: ClusterReasonNotInStep,
		Meaning: "Policies are being created, changed or deleted, or a finalizer keeps one.",
		Remedy:  "Wait, or remove the finalizer that the message names."},
	{On: "Ready=False", Name: ReasonWriteRefused,
		Meaning: "The API server refuses the policy in a namespace; other namespaces are not affected, and the write is retried with backoff.",
		Remedy:  "Change the quota, admission policy, webhook or role that status.refusals names."},
	{On: "Ready=False", Name: ClusterReasonNameTaken,
		Meaning: "A namespace has another RebootPolicy of that name, which stays as it is.",
		Remedy:  "Rename one of the two."},
	{On: "Ready=False", Name: ClusterReasonChangedRepeatedly,
		Meaning: "Another writer keeps changing a policy; its changes are reverted, at last once a minute.",
		Remedy:  "Stop the writer that status.refusals names, or create a RebootPolicy for the workload."},
	common.InvalidSpec,
	{On: "Ready=False Stalled=True", Name: ReasonForbidden,
		Meaning: "The object is not approved: its writer may lack the rights to what the template does in all namespaces.",
		Remedy:  "Apply the object again as a user who may patch the target workloads in all namespaces."},
	{On: "Ready=False", Name: ReasonDeleting,
		Meaning: "The object is being deleted; no policy is created or changed.",
		Remedy:  "Remove the finalizers that the message names if their owner is gone."},
}
