// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	v1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

var chaosPodMeanings = map[string]Meaning{
	// Ready.
	v1.ReasonScheduled: {Text: "Runs can take place.", Remedy: nothing},
	v1.ReasonCompleted: {Text: "The only run of the schedule is over.", Remedy: "Request a run for another one.", Verb: VerbRun},
	v1.ReasonNoTarget: {Text: "The target does not exist, or has no pods. Runs take place once it has.",
		Remedy: "Create the workload, or correct spec.target."},
	v1.ReasonCanaryConflict: {Text: "Another pod has the name of the canary, and is not changed.", Remedy: "Delete or rename that pod, or the ChaosPod."},
	v1.ReasonUnschedulable:  {Text: "No node takes the canary, and the message has the words of the scheduler.", Remedy: "Make room, or correct spec.target.template."},
	// Waiting.
	v1.ReasonUnknown:       {Text: "Something about the target cannot be read, and no pod is killed meanwhile. It is read again by itself.", Remedy: "Let the operator read what the message names."},
	v1.ReasonOutsideWindow: {Text: "No window is open. The run begins when one opens.", Remedy: "Wait, or change spec.windows."},
	v1.ReasonBlackout:      {Text: "A blackout holds, of the ChaosPod or of the whole cluster. The run begins after it, in a window.", Remedy: "Wait, or remove the blackout."},
	v1.ReasonRestartInProgress: {Text: "A RebootPolicy restarts the workload, or watches over a restart. The run begins after it.",
		Remedy: "Wait for the restart to end."},
	v1.ReasonFaultInjected: {Text: "A fault is injected into an ExternalService that the workload depends on. The run begins after it.",
		Remedy: "Wait for the end of the fault, or end it."},
	v1.ReasonUnstable:    {Text: "The workload rolls out. The run begins once it is complete.", Remedy: "Wait for the rollout, or correct it."},
	v1.ReasonTooFewReady: {Text: "Fewer pods would be ready than safety.minReady demands. The run begins once there are enough.", Remedy: "Have more pods become ready, add replicas, or lower safety.minReady."},
	v1.ReasonDailyLimit:  {Text: "safety.maxPerDay is reached. Runs go on the next day (UTC).", Remedy: "Wait, or raise safety.maxPerDay."},
	v1.ReasonBudgetBlocked: {Text: "Disruption budgets allowed no eviction in the last run.",
		Remedy: "Change the PodDisruptionBudget, or add replicas: it would stop a drain of the node as well."},
	v1.ReasonNoCandidate: {Text: "No pod is fit to die, such as none that is ready and older than filter.minAge. The run begins once one is.",
		Remedy: "Wait, or change spec.filter."},
	v1.ReasonConcurrencyLimit: {Text: "As many workloads of the cluster are disrupted as the operator's rebootPolicies.maxRestarts allows. The run begins once fewer are.",
		Remedy: "Wait, or raise the limit."},
	// Progressing.
	v1.ReasonKilling:   {Text: "Pods are being killed. Verification follows.", Remedy: nothing},
	v1.ReasonVerifying: {Text: "The workloads of the victims are watched until they have recovered, or the time for it is over.", Remedy: nothing},
	v1.ReasonIdle:      {Text: "No run is due.", Remedy: "Request a run, if one should take place now.", Verb: VerbRun},
	v1.ReasonWaiting:   {Text: "A run is due and waits: see Waiting.", Remedy: nothing},
	v1.ReasonHalted: {Text: "No run begins until a person acts: see Stalled.",
		Remedy: "Remove the cause, and resume the ChaosPod.", Verb: VerbResume},
	v1.ReasonSuspended: {Text: "No run begins while spec.suspend is true.", Remedy: "Set spec.suspend to false."},
	// Survived, and Stalled.
	v1.ReasonRecovered: {Text: "The target recovered in time after the last run, and stayed ready.", Remedy: nothing},
	v1.ReasonRecoveryFailed: {Text: "The target did not recover in time, or did not stay ready. With onFailure Halt, no run begins until a person acts.",
		Remedy:      "Have the target recover, correct why it did not, and resume the ChaosPod.",
		Unrequested: "Have the target recover, and correct why it did not.", Verb: VerbResume},
	v1.ReasonProbesFailed: {Text: "More requests of verification.probes failed while pods died than maxFailures allows, or none succeeded before: then nothing is killed.",
		Remedy:      "See how its pods end and start (readiness, preStop, terminationGracePeriodSeconds), or why no request could be sent; then resume.",
		Unrequested: "See how its pods end and start (readiness, preStop, terminationGracePeriodSeconds), or why no request could be sent.", Verb: VerbResume},
	v1.ReasonNoRun: {Text: "No run was verified yet, or none since spec.target was changed.", Remedy: "Request a run, with spec.dryRun false.", Verb: VerbRun},
	v1.ReasonEvictionMisconfigured: {Text: "Several disruption budgets match one pod, which the eviction API refuses for good.",
		Remedy: "Leave one PodDisruptionBudget for each pod, and resume the ChaosPod.", Unrequested: "Leave one PodDisruptionBudget for each pod.", Verb: VerbResume},
	// Runs and victims.
	v1.ReasonSpecChanged: {Text: "The spec is not the one that the victims were chosen by, so that the run ended.", Remedy: "Request another run.", Verb: VerbRun},
	v1.ReasonDeleting:    {Text: "The ChaosPod is being deleted.", Remedy: nothing},
	v1.ReasonTimedOut:    {Text: "The pod could not be killed in time.", Remedy: "See what keeps the pod, such as a disruption budget, and request another run.", Unrequested: "See what keeps the pod, such as a disruption budget.", Verb: VerbRun},
	v1.ReasonTargetGone:  {Text: "The workload was deleted or scaled down before it recovered: the run proves nothing.", Remedy: "Request another run.", Verb: VerbRun},
	v1.ReasonCountZero:   {Text: "spec.count makes no whole pod.", Remedy: "Raise spec.count, or add replicas."},
}
