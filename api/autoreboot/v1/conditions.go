// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of conditions. All but Stalled are present from the first reconcile on.
const (
	// ConditionReady is true while the policy watches everything that its spec names.
	ConditionReady = common.ConditionReady
	// ConditionWaiting is true while a restart is due and may not start yet. Its reason is the obstacle.
	ConditionWaiting = common.ConditionWaiting
	// ConditionProgressing is true while a restart is in flight. Its reason is the state of the policy in one word.
	ConditionProgressing = common.ConditionProgressing
	// ConditionVerified is the verdict on the latest restart; it is unknown before the first.
	ConditionVerified = "Verified"
	// ConditionStalled is true while a user must act.
	ConditionStalled = common.ConditionStalled
	// ConditionSuspended is true while spec.suspend is.
	ConditionSuspended = common.ConditionSuspended
	// ConditionDisruptionBudgetBlocks is true if a disruption budget would refuse the evictions of the policy. A ChaosPod
	// has then found that it lets no pod of a target go, although all pods are ready.
	ConditionDisruptionBudgetBlocks = "DisruptionBudgetBlocks"
)

// The annotations that a user sets on a policy.
const (
	// RetryAnnotation ends a halt. Its value is a common.Token.
	RetryAnnotation = "autoreboot.fairlead.dev/retry"
	// RestartNowAnnotation requests one restart of every target. Its value is a common.Token.
	RestartNowAnnotation = "autoreboot.fairlead.dev/restart-now"
	// ApproveAnnotation approves the restarts that are due. Its value is status.pendingApproval.
	ApproveAnnotation = "autoreboot.fairlead.dev/approve"
	// OnInjectedFaultAnnotation defines what the policy does while a fault is injected into an ExternalService that a
	// gate or trigger names. Hold (the default) begins no restart, and counts no effect of the fault as a change. Restart
	// treats the fault as a real one.
	OnInjectedFaultAnnotation = "autoreboot.fairlead.dev/on-injected-fault"
	// OnInjectedFaultHold and OnInjectedFaultRestart are the values of OnInjectedFaultAnnotation.
	OnInjectedFaultHold    = "Hold"
	OnInjectedFaultRestart = "Restart"
)

// VerbApprove is the verb that a user needs on RebootPolicies, in addition to patch, to approve a restart. It is needed
// as well to remove the gate of type Approval.
const VerbApprove = "approve"

const (
	// RestartIDAnnotation is on the pod template of a workload that a policy restarted. Its value is the id of the
	// restart.
	RestartIDAnnotation = "autoreboot.fairlead.dev/restart-id"
	// PausedByAnnotation is on a Deployment whose rollout a policy has paused for some time. Its value is the name of the
	// policy.
	PausedByAnnotation = "autoreboot.fairlead.dev/paused-by"
	// RestartNowTrigger is the name of RestartNowAnnotation in lists of triggers. No trigger of a spec can have this
	// name.
	RestartNowTrigger = "RestartNow"
)
