// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of conditions. Ready, Resolved and Healthy are good when True; the others are True while something is out of the
// ordinary. All but Reconciling and Stalled are present from the first reconcile on. Tools that wait for a rollout read Ready,
// Reconciling and Stalled (kstatus): something outside being down is therefore Healthy=False and Ready=True.
const (
	// ConditionReady says that the Service and its EndpointSlices are as the spec defines them.
	ConditionReady = common.ConditionReady
	// ConditionResolved says that every DNS name resolves.
	ConditionResolved = "Resolved"
	// ConditionHealthy says that every address of the active priority is healthy.
	ConditionHealthy = "Healthy"
	// ConditionFailedOver says that a priority other than the lowest is published.
	ConditionFailedOver = "FailedOver"
	// ConditionFaultInjected says that a fault was injected into this ExternalService on purpose.
	ConditionFaultInjected = "FaultInjected"
	// ConditionWaiting says that something is to change and may not yet. It has the reason of the condition that says so.
	ConditionWaiting = common.ConditionWaiting
	// ConditionReconciling says that the spec is not carried out yet. It is absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled says that the spec cannot be carried out until a person changes it, or what it
	// conflicts with. It has the reason of Ready, and is absent otherwise.
	ConditionStalled = common.ConditionStalled
	// ConditionSuspended is True while spec.suspend is.
	ConditionSuspended = common.ConditionSuspended
)
