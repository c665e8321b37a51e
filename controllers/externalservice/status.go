// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// maxMessage keeps a message readable in `kubectl describe`, in bytes.
const maxMessage = 1024

// report builds a status from the stored one, so that conditions keep their transition times.
type report struct {
	status     networkingv1.ExternalServiceStatus
	generation int64
	now        metav1.Time
}

func newReport(es *networkingv1.ExternalService, now time.Time) *report {
	r := &report{status: *es.Status.DeepCopy(), generation: es.Generation, now: metav1.NewTime(now)}
	r.status.ObservedGeneration = es.Generation
	return r
}

func (r *report) set(kind string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = message[:maxMessage-3] + "..."
	}
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: r.generation, LastTransitionTime: r.now,
	})
}

func (r *report) clear(kind string) { meta.RemoveStatusCondition(&r.status.Conditions, kind) }

// published records what stands in the cluster now.
func (r *report) published(es *networkingv1.ExternalService, service *corev1.Service, chosen selection, sliceCount int) {
	r.clear(networkingv1.ConditionStalled)
	r.status.ServiceRef = &networkingv1.ServiceReference{Name: service.Name, UID: service.UID}
	r.status.ClusterIP = service.Spec.ClusterIP
	r.status.ActivePriority = chosen.priority
	count := int32(len(chosen.addresses))
	r.status.Addresses = &networkingv1.AddressCounts{Total: chosen.total, Published: count}
	if es.Spec.HealthCheck == nil {
		r.status.Addresses.Healthy = chosen.total
	}
	if count == 0 {
		r.set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses,
			"no endpoint that is Active has addresses: the Service has nothing behind it")
	} else {
		r.set(networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished,
			fmt.Sprintf("%s in %s behind Service %s", plural(int(count), "address", "addresses"),
				plural(sliceCount, "EndpointSlice", "EndpointSlices"), service.Name))
	}
	r.unobserved(es)
}

// unobserved says of DNS names and health checks that nothing is known, since this version does
// not act on them.
func (r *report) unobserved(es *networkingv1.ExternalService) {
	// Never clear and set: the condition would be a new one at each look, with a new time, and the
	// status would be written for that alone.
	if slices.ContainsFunc(es.Spec.Endpoints, func(e networkingv1.Endpoint) bool { return e.DNS != nil }) {
		r.set(networkingv1.ConditionResolved, metav1.ConditionUnknown, networkingv1.ReasonUnknown,
			"this version publishes addresses only: DNS names are not looked up")
	} else {
		r.clear(networkingv1.ConditionResolved)
	}
	if es.Spec.HealthCheck != nil {
		r.set(networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonUnknown,
			"this version does not run health checks: every address of the lowest priority is published as ready")
	} else {
		r.clear(networkingv1.ConditionHealthy)
	}
}

// conflicted records that a Service of somebody else's stands in the way.
func (r *report) conflicted(es *networkingv1.ExternalService) {
	r.status.ServiceRef, r.status.ClusterIP, r.status.ActivePriority, r.status.Addresses = nil, "", nil, nil
	r.clear(networkingv1.ConditionStalled)
	r.set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonServiceConflict, conflictMessage(es))
	r.unobserved(es)
}

func conflictMessage(es *networkingv1.ExternalService) string {
	return fmt.Sprintf("Service %s/%s exists and was not made for this ExternalService; it is left alone: delete it, or rename one of the two", es.Namespace, es.Name)
}

// invalid records that the stored spec breaks a rule. What is published stays as it is.
func (r *report) invalid(errs field.ErrorList) {
	message := errs.ToAggregate().Error()
	r.set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonInvalidSpec, message)
	r.set(networkingv1.ConditionStalled, metav1.ConditionTrue, networkingv1.ReasonInvalidSpec, message)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
