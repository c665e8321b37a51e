// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

var rebootPolicyMeanings = map[string]Meaning{
	// Ready.
	v1.ReasonWatching: {Text: "All that the policy names is watched.", Remedy: nothing},
	v1.ReasonTargetNotFound: {Text: "A workload that is named does not exist, or a selector matches none. The policy goes on with the others.",
		Remedy: "Create the workload, or correct spec.targets."},
	v1.ReasonSourceNotFound: {Text: "A ConfigMap, Secret or ExternalService that is listed and not optional does not exist.",
		Remedy: "Create it, correct its name, or set optional: true."},
	v1.ReasonProbeUnavailable: {Text: "A Probe trigger cannot fire: its host is refused, its port or Secret is missing, or its check has not succeeded for any pod yet.",
		Remedy: "Correct the probe as the message says; other triggers go on."},
	v1.ReasonTooManyTargets: {Text: "The policy selects more than it can watch. The rest is left alone, and the message names it.",
		Remedy: "Split the policy, or narrow its selectors."},
	// Waiting, in the order in which they are checked.
	v1.ReasonSuspended: {Text: "No restart starts while spec.suspend is true.", Remedy: "Set spec.suspend to false."},
	v1.ReasonHalted: {Text: "No restart starts until a person acts: the policy has halted, and Stalled says why.",
		Remedy: "Remove the cause, and resume the policy.", Verb: VerbResume},
	v1.ReasonPaused:       {Text: "The workload is paused (spec.paused). The restart starts once it is not.", Remedy: "Resume the rollout: kubectl rollout resume."},
	v1.ReasonScaledToZero: {Text: "The workload has no pods to restart. New ones have what has changed.", Remedy: "Scale it up, if it should run."},
	v1.ReasonOnDelete: {Text: "The workload has the update strategy OnDelete, and rolls out by hand alone.",
		Remedy: "Set spec.strategy.type to Evict, or delete its pods by hand."},
	v1.ReasonPartitioned: {Text: "The partition of the StatefulSet keeps every pod as it is.", Remedy: "Lower its partition, or set spec.strategy.type to Evict."},
	v1.ReasonTerminating: {Text: "The workload is being deleted.", Remedy: nothing},
	v1.ReasonSourceUnknown: {Text: "What asked for the restart cannot be observed now, so that it may not be needed.",
		Remedy: "Let the operator read the source that the message names."},
	v1.ReasonDebouncing: {Text: "Further changes are waited for, so that one restart is enough for all. The restart starts when debounce.quietPeriod has passed.",
		Remedy: "Wait, or request the restart now.", Verb: VerbRestart},
	v1.ReasonReplicaFailure: {Text: "Pods of the workload are refused, as by a quota, so that a restart would end what runs. It starts once there is room.",
		Remedy: "Make room as the message says.", Verb: VerbRestart},
	v1.ReasonUnschedulable: {Text: "Pods of the workload find no node, so that a restart would end what runs. It starts once they do.",
		Remedy: "Make room as the message says.", Verb: VerbRestart},
	v1.ReasonRolloutInProgress: {Text: "A rollout is under way that another user or controller began. The restart starts after it, if it is still needed.",
		Remedy: "Wait for the rollout, or correct it: kubectl rollout status."},
	v1.ReasonBackoff: {Text: "The last restart failed, and the next attempt is not due yet.",
		Remedy: "Correct why it failed, and wait or request the restart now.", Verb: VerbRestart},
	v1.ReasonCooldown: {Text: "The workload was restarted within cooldown. The next restart starts once that has passed.",
		Remedy: "Wait, or request the restart now.", Verb: VerbRestart},
	v1.ReasonBlackout: {Text: "A blackout holds, of the policy or of the whole cluster. The restart starts after it, in a window.",
		Remedy: "Wait, or remove the blackout."},
	v1.ReasonOutsideWindow: {Text: "No window of the policy is open. The restart starts when one opens.",
		Remedy: "Wait, or request the restart now.", Verb: VerbRestart},
	v1.ReasonGateClosed: {Text: "A gate of the policy is closed, or a fault is injected into what it depends on. The restart starts once all gates are open.",
		Remedy: "Have what the gate names recover; what is known of it follows."},
	v1.ReasonSourceMissing: {Text: "A ConfigMap or Secret, or a key of one, is missing that new pods cannot start without.",
		Remedy: "Create what the message names."},
	v1.ReasonLowerWave: {Text: "Targets of a lower wave are restarted and verified first.", Remedy: "Wait for them, or see what holds them."},
	v1.ReasonChaosActive: {Text: "A ChaosPod, or another policy, disrupts the same workload. The restart starts after it.",
		Remedy: "Wait for its end."},
	v1.ReasonConcurrencyLimit: {Text: "As many workloads are being restarted as concurrency or the operator's rebootPolicies.maxRestarts allows.",
		Remedy: "Wait for another restart to end, or raise the limit."},
	v1.ReasonDryRun:   {Text: "The restart would start now, and spec.dryRun is true.", Remedy: "Set spec.dryRun to false."},
	v1.ReasonSettling: {Text: "Addresses have changed, and ask for a restart once they have stayed for a while.", Remedy: nothing},
	// Progressing.
	v1.ReasonIdle:              {Text: "No restart is due.", Remedy: nothing},
	v1.ReasonWaiting:           {Text: "A restart is due and waits: see Waiting.", Remedy: nothing},
	v1.ReasonFailed:            {Text: "The latest restart failed, and nothing is to follow.", Remedy: "See why Verified is false, correct that, and request a restart.", Verb: VerbRestart},
	string(v1.PhasePlanned):    {Text: "The restart is decided on and recorded, and the workload is told next.", Remedy: nothing},
	string(v1.PhaseRollingOut): {Text: "The workload's controller replaces its pods. The soak follows.", Remedy: "Wait, or see kubectl rollout status."},
	string(v1.PhaseEvicting):   {Text: "Pods are evicted one after the other, as disruption budgets allow. The soak follows.", Remedy: "Wait; where a budget refuses, see what it needs."},
	string(v1.PhaseSoaking):    {Text: "All pods are new and available, and are watched for verification.soak. Then the restart is verified.", Remedy: nothing},
	// Verified, and history.
	v1.ReasonNoRestart:       {Text: "No restart has ended yet.", Remedy: nothing},
	v1.ReasonStayedAvailable: {Text: "The restart succeeded: its pods stayed available through the soak.", Remedy: nothing},
	v1.ReasonNewerPods:       {Text: "Every pod was made after the change, by another rollout: no restart was needed.", Remedy: nothing},
	v1.ReasonTimedOut: {Text: "The restart was not complete and available within verification.timeout.",
		Remedy: "Correct what the message says that the pods waited for; then resume, or request a restart.", Verb: VerbRestart},
	v1.ReasonNodeUnreachable: {Text: "A rollout waited for nothing but pods whose node is not ready or gone. It counts as no failed attempt.",
		Remedy: "Bring the node back, or remove it; the workload's controller goes on by itself."},
	v1.ReasonContainerRestarts: {Text: "Containers restarted more often than verification.maxContainerRestarts.",
		Remedy: "See the logs of the previous containers, correct the cause, and resume or request a restart.", Verb: VerbRestart},
	v1.ReasonUnavailable: {Text: "The workload became available, and did not stay so through the soak.",
		Remedy: "See the events and logs of its pods, correct the cause, and resume or request a restart.", Verb: VerbRestart},
	v1.ReasonEvictionBlocked: {Text: "A disruption budget refused the eviction for longer than strategy.evict.timeout.",
		Remedy: "Change the PodDisruptionBudget that the message names, or add replicas; then request a restart.", Verb: VerbRestart},
	v1.ReasonEvictionMisconfigured: {Text: "The eviction API cannot decide, as for a pod with more than one disruption budget.",
		Remedy: "Leave one PodDisruptionBudget for each pod, and resume the policy.", Verb: VerbResume},
	v1.ReasonTargetGone: {Text: "The workload was deleted or made again meanwhile: nothing is owed.", Remedy: nothing},
	v1.ReasonUnselected: {Text: "The policy does not select the workload any more. The restart is owed, and done where it is selected again.",
		Remedy: "Select the workload again, if it should be restarted."},
	v1.ReasonStartingDeadline: {Text: "A scheduled run could not start within startingDeadline, and was skipped.",
		Remedy: "Widen the windows or startingDeadline; a restart can be requested.", Verb: VerbRestart},
	// Stalled.
	v1.ReasonVerificationFailed: {Text: "A restart failed, its attempts are used up, and onFailure is Halt: no restart starts until a person acts.",
		Remedy: "Correct why it failed, and resume the policy; a change of its spec resumes it as well.", Verb: VerbResume},
	v1.ReasonLimitReached: {Text: "A target has used up limit.maxRestarts: no restart starts until a person acts.",
		Remedy: "Find what restarts it so often, and resume the policy.", Verb: VerbResume},
	v1.ReasonTargetReverted: {Text: "The owner of the workload, such as a GitOps tool, reverts the restart: no restart starts until a person acts.",
		Remedy: "Set spec.strategy.type to Evict, or have the tool leave the annotations of the pod template alone.", Verb: VerbResume},
	// DisruptionBudgetBlocks.
	v1.ReasonNoDisruptionsAllowed: {Text: "A disruption budget lets no pod of a target go although all are ready: it would refuse a restart by eviction as well.",
		Remedy: "Change the PodDisruptionBudget that the message names, or add replicas."},
	v1.ReasonNotObserved: {Text: "No run of a ChaosPod has found such a budget.", Remedy: nothing},
	v1.ReasonNotEvicting: {Text: "The policy does not evict: budgets do not bind it.", Remedy: nothing},
}

// clusterRebootPolicyMeanings are the reasons of Ready.
var clusterRebootPolicyMeanings = map[string]Meaning{
	v1.ClusterReasonInStep:    {Text: "Each selected namespace with a workload for the policy has it as the template says.", Remedy: nothing},
	v1.ClusterReasonNotInStep: {Text: "Policies are being made, changed or deleted, a hundred at a time.", Remedy: nothing},
	v1.ClusterReasonNameTaken: {Text: "The namespace has another RebootPolicy of that name, which is left as it is.", Remedy: "Rename one of the two."},
}
