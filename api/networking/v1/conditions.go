// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/fairlead-dev/fairlead/api/common"

// Types of conditions. Ready, Resolved and Healthy are normally True; the others are True while something is out of the
// ordinary. All but Reconciling and Stalled are present from the first reconcile on. Tools that wait for a rollout read
// Ready, Reconciling and Stalled (kstatus). That is why an ExternalService whose server is down has Healthy=False and
// stays Ready=True.
const (
	// ConditionReady is True while the Service and its EndpointSlices are as the spec defines them.
	ConditionReady = common.ConditionReady
	// ConditionResolved is True while every DNS name resolves.
	ConditionResolved = "Resolved"
	// ConditionHealthy is True while every address of the published priority is healthy.
	ConditionHealthy = "Healthy"
	// ConditionFailedOver is True while a less preferred priority is published.
	ConditionFailedOver = "FailedOver"
	// ConditionFaultInjected is True while a fault that a user requested is in effect.
	ConditionFaultInjected = "FaultInjected"
	// ConditionWaiting is True while a change is pending. It repeats the reason of the condition that the change is
	// about.
	ConditionWaiting = common.ConditionWaiting
	// ConditionReconciling is True while the spec is not carried out yet, and absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True while a user must change the spec, or the object that it conflicts with. It repeats the
	// reason of Ready, and is absent otherwise.
	ConditionStalled = common.ConditionStalled
	// ConditionSuspended is True while spec.suspend is.
	ConditionSuspended = common.ConditionSuspended
)
