// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// budgetKind is how the API server calls what refuses an eviction.
const budgetKind = "PodDisruptionBudget"

// Outcome is the result of ending a pod.
type Outcome string

// The outcomes.
const (
	// Done: the pod ends.
	Done Outcome = "Done"
	// Gone: there is no pod of that name.
	Gone Outcome = "Gone"
	// Replaced: the API server refused the UID or the version, as it does for another pod of that name.
	Replaced Outcome = "Replaced"
	// Blocked: a disruption budget refuses it for now.
	Blocked Outcome = "Blocked"
	// Misconfigured: several disruption budgets match the pod, so that it can never be evicted.
	Misconfigured Outcome = "Misconfigured"
	// Refused: a right is missing, or an admission policy, a webhook or a quota is against it.
	Refused Outcome = "Refused"
	// Retry: it failed for now, or the result is not known.
	Retry Outcome = "Again"
)

// Result of ending a pod. Err is nil only with Done; Budget is set only with Blocked, where it is known.
type Result struct {
	Outcome Outcome
	Budget  string
	Err     error
}

// Options of how a pod ends.
type Options struct {
	// GracePeriodSeconds that the pod has to stop. Defaults to the pod's own.
	GracePeriodSeconds *int64
	// DryRun has the API server check the request, and end nothing.
	DryRun bool
}

// Evict asks for the eviction of the pod with that UID, and of no other of the same name.
func Evict(ctx context.Context, c client.Client, pod types.NamespacedName, uid types.UID, o Options) Result {
	name := metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}
	var options []client.SubResourceCreateOption
	if o.DryRun {
		options = append(options, client.DryRunAll)
	}
	err := c.SubResource("eviction").Create(ctx, &corev1.Pod{ObjectMeta: name}, &policyv1.Eviction{
		ObjectMeta: name,
		DeleteOptions: &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: o.GracePeriodSeconds,
		},
	}, options...)
	return Result{Outcome: outcomeOf(err, pod.Name), Err: err, Budget: budgetOf(err)}
}

// Delete deletes the pod with that UID, regardless of its disruption budget.
func Delete(ctx context.Context, c client.Client, pod types.NamespacedName, uid types.UID, o Options) Result {
	options := []client.DeleteOption{client.Preconditions{UID: &uid}}
	if o.GracePeriodSeconds != nil {
		options = append(options, client.GracePeriodSeconds(*o.GracePeriodSeconds))
	}
	if o.DryRun {
		options = append(options, client.DryRunAll)
	}
	err := c.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, options...)
	return Result{Outcome: outcomeOf(err, pod.Name), Err: err}
}

// budgetOf returns the name of the disruption budget that refused an eviction. The API server has no field for it: its
// message is "The disruption budget NAME needs 1 healthy pods and has 1 currently", or name it
// in the details.
func budgetOf(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	details := status.Status().Details
	for _, cause := range details.Causes {
		if rest, ok := strings.CutPrefix(cause.Message, "The disruption budget "); ok && cause.Type == policyv1.DisruptionBudgetCause {
			name, _, _ := strings.Cut(rest, " ")
			return name
		}
	}
	if strings.EqualFold(details.Kind, budgetKind) {
		return details.Name
	}
	return ""
}

// outcomeOf returns what a reply to a request about a pod means.
func outcomeOf(err error, pod string) Outcome {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return Done
	case apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		return Blocked
	case apierrors.IsForbidden(err) && isBudgetError(err):
		return Blocked // a budget that is not up to date, or has let too many go
	case errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		strings.Contains(status.Status().Message, budgetKind):
		return Misconfigured
	case controller.IsRefused(err):
		return Refused
	case apistatus.IsAbsent(err, corev1.Resource("pods"), pod):
		return Gone
	case apierrors.IsConflict(err):
		return Replaced
	}
	return Retry
}

// isBudgetError reports whether an error is about a disruption budget rather than about rights.
func isBudgetError(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && strings.EqualFold(details.Kind, budgetKind)
}
