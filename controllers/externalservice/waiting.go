// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// waits are the conditions that say that something is to change and may not yet. The first that holds gives Waiting its
// reason and its message.
var waits = []struct {
	kind   string
	status metav1.ConditionStatus
	reason string
}{
	{networkingv1.ConditionReady, metav1.ConditionUnknown, networkingv1.ReasonSuspended},
	{networkingv1.ConditionReconciling, metav1.ConditionTrue, networkingv1.ReasonResolving},
	{networkingv1.ConditionFaultInjected, metav1.ConditionFalse, networkingv1.ReasonFaultPending},
	{networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonSecretUnavailable},
	{networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive},
	{networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackDelay},
	{networkingv1.ConditionFailedOver, metav1.ConditionTrue, networkingv1.ReasonFailbackManual},
}

// setWaiting sets what the object waits for. While it is suspended, that is the end of the suspension.
func (u *statusUpdate) setWaiting(isSuspended bool) {
	for _, w := range waits {
		c := meta.FindStatusCondition(u.status.Conditions, w.kind)
		if c == nil || c.Status != w.status || c.Reason != w.reason {
			continue
		}
		reason, message := c.Reason, c.Message
		if isSuspended && reason != networkingv1.ReasonSuspended {
			reason, message = networkingv1.ReasonSuspended, "nothing changes while spec.suspend is true; before: "+message
		}
		u.Set(networkingv1.ConditionWaiting, metav1.ConditionTrue, reason, message)
		return
	}
	if u.outgoing != "" {
		u.Set(networkingv1.ConditionWaiting, metav1.ConditionTrue, networkingv1.ReasonFirstCheck, u.outgoing)
		return
	}
	u.SetNotWaiting()
}

// complete sets the conditions about the others, and those that nothing was observed for yet: a client may wait for any of
// them from the first status on.
func (u *statusUpdate) complete(es *networkingv1.ExternalService) {
	u.setIfAbsent(networkingv1.ConditionResolved, metav1.ConditionUnknown, networkingv1.ReasonUnknown, "no name was looked up yet")
	if es.Spec.HealthCheck == nil {
		u.setUnchecked()
	}
	u.setIfAbsent(networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonUnknown, "no address was checked yet")
	u.setIfAbsent(networkingv1.ConditionFailedOver, metav1.ConditionFalse, networkingv1.ReasonNothingPublished, nothingPublished)
	if es.Annotations[networkingv1.InjectFaultAnnotation] != "" {
		u.setIfAbsent(networkingv1.ConditionFaultInjected, metav1.ConditionFalse, networkingv1.ReasonFaultPending,
			"no fault begins before something is published")
	}
	u.setIfAbsent(networkingv1.ConditionFaultInjected, metav1.ConditionFalse, networkingv1.ReasonNoFaultRequested, noFaultRequested)
	u.setWaiting(ptr.Deref(es.Spec.Suspend, false))
}

// setIfAbsent sets a condition that the status does not have.
func (u *statusUpdate) setIfAbsent(kind string, status metav1.ConditionStatus, reason, message string) {
	if meta.FindStatusCondition(u.status.Conditions, kind) == nil {
		u.Set(kind, status, reason, message)
	}
}
