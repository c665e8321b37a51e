// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	netv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

// Health is the state of an object in one word.
type Health string

// Healths are all, the worst first.
var Healths = []Health{Failed, Unknown, Degraded, Waiting, Progressing, Suspended, Healthy}

// What an object can be, the worst first. Unknown is also what could not be read, or is not of the present spec.
const (
	Failed      Health = "Failed"
	Unknown     Health = "Unknown"
	Degraded    Health = "Degraded"
	Waiting     Health = "Waiting"
	Progressing Health = "Progressing"
	Suspended   Health = "Suspended"
	Healthy     Health = "Healthy"
)

// state is what the status of an object says.
type state struct {
	conditions         []metav1.Condition
	observedGeneration int64
}

// stateOf returns the state of an object of Fairlead.
func stateOf(object client.Object) state {
	switch o := object.(type) {
	case *networkingv1.ExternalService:
		return state{o.Status.Conditions, o.Status.ObservedGeneration}
	case *autorebootv1.RebootPolicy:
		return state{o.Status.Conditions, o.Status.ObservedGeneration}
	case *autorebootv1.ClusterRebootPolicy:
		return state{o.Status.Conditions, o.Status.ObservedGeneration}
	case *chaosv1.ChaosPod:
		return state{o.Status.Conditions, o.Status.ObservedGeneration}
	}
	return state{}
}

func (s state) find(condition string) *metav1.Condition {
	return meta.FindStatusCondition(s.conditions, condition)
}

// worst are the conditions by which an object of Fairlead is judged. The first that is as it says counts.
var worst = []struct {
	condition string
	status    metav1.ConditionStatus
	reason    string // empty for any
	health    Health
}{
	{common.ConditionStalled, metav1.ConditionTrue, "", Failed},
	{common.ConditionReady, metav1.ConditionFalse, "", Failed},
	{networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy, Failed},
	{common.ConditionSuspended, metav1.ConditionTrue, "", Suspended},
	{common.ConditionReady, metav1.ConditionUnknown, "", Unknown},
	{networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonUnknown, Unknown},
	{networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonSecretUnavailable, Unknown},
	{networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive, Unknown},
	{networkingv1.ConditionHealthy, metav1.ConditionFalse, "", Degraded},
	{networkingv1.ConditionResolved, metav1.ConditionFalse, "", Degraded},
	{networkingv1.ConditionFailedOver, metav1.ConditionTrue, "", Degraded},
	{networkingv1.ConditionFaultInjected, metav1.ConditionTrue, "", Degraded},
	{autorebootv1.ConditionVerified, metav1.ConditionFalse, "", Degraded},
	{autorebootv1.ConditionDisruptionBudgetBlocks, metav1.ConditionTrue, "", Degraded},
	{chaosv1.ConditionSurvived, metav1.ConditionFalse, "", Degraded},
	{common.ConditionWaiting, metav1.ConditionTrue, "", Waiting},
	{common.ConditionProgressing, metav1.ConditionTrue, "", Progressing},
	{networkingv1.ConditionReconciling, metav1.ConditionTrue, "", Progressing},
}

// healthOf judges an object, and says by what.
func healthOf(object client.Object) (Health, string) {
	if health, said, is := workloadHealth(object); is {
		return health, said
	}
	if policy, is := object.(*netv1.NetworkPolicy); is {
		return Healthy, limits(policy)
	}
	s := stateOf(object)
	switch {
	case object.GetDeletionTimestamp() != nil:
		return Progressing, "it is being deleted"
	case s.find(common.ConditionReady) == nil:
		return Unknown, "no operator has observed it yet"
	case s.observedGeneration < object.GetGeneration():
		return Unknown, fmt.Sprintf("its status is of generation %d, and its spec of %d", s.observedGeneration, object.GetGeneration())
	}
	health, reason := Healthy, ""
	for _, w := range worst {
		if c := s.find(w.condition); c != nil && c.Status == w.status && (w.reason == "" || w.reason == c.Reason) {
			health, reason = w.health, c.Reason
			break
		}
	}
	if of, is := object.(*autorebootv1.ClusterRebootPolicy); is {
		return clusterHealth(of, health, reason)
	}
	return health, reason
}

// workloadHealth judges a workload by its replicas.
func workloadHealth(object client.Object) (health Health, said string, isWorkload bool) {
	var desired, available int32
	var observed int64
	switch o := object.(type) {
	case *workload:
		return o.Health, o.Said, true
	case *appsv1.Deployment:
		desired, available, observed = ptr.Deref(o.Spec.Replicas, 1), o.Status.AvailableReplicas, o.Status.ObservedGeneration
	case *appsv1.StatefulSet:
		desired, available, observed = ptr.Deref(o.Spec.Replicas, 1), o.Status.AvailableReplicas, o.Status.ObservedGeneration
	case *appsv1.DaemonSet:
		desired, available, observed = o.Status.DesiredNumberScheduled, o.Status.NumberAvailable, o.Status.ObservedGeneration
	case *argorollouts.Rollout:
		if o.Spec.Fault != "" {
			return Unknown, o.Spec.Fault, true
		}
		desired, available, observed = ptr.Deref(o.Spec.Replicas, 1), o.Status.AvailableReplicas, o.Generation
		if !o.IsObserved() {
			observed--
		}
	default:
		return "", "", false
	}
	said = fmt.Sprintf("%d of %d pods available", available, desired)
	switch {
	case observed < object.GetGeneration():
		return Unknown, "its controller has not observed it yet", true
	case desired == 0:
		return Suspended, "it has no pods", true
	case available == 0:
		return Failed, said, true
	case available < desired:
		return Degraded, said, true
	}
	if r, is := object.(*argorollouts.Rollout); is && r.Status.Abort {
		return Degraded, said + ", and its latest revision was aborted", true
	} else if is && len(r.Status.PauseConditions) > 0 {
		return Waiting, said + ", and its strategy is paused: " + r.Status.PauseConditions[0].Reason, true
	}
	return Healthy, said, true
}
