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
