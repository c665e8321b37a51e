// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/conditions"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// maxRefusals is how many refusals the status has.
const maxRefusals = 10

// refusalOf returns why a write failed, in the words of the API server.
func refusalOf(namespace string, err error) autorebootv1.NamespaceRefusal {
	reason := autorebootv1.ReasonWriteRefused
	if errors.As(err, new(errNameTaken)) {
		reason = autorebootv1.ClusterReasonNameTaken
	}
	return autorebootv1.NamespaceRefusal{Namespace: namespace, Reason: reason, Message: text.Truncate(err.Error(), conditions.MaxMessage)}
}

// recordBlocked records why nothing is written. The counts stay as they are.
func (r *Reconciler) recordBlocked(ctx context.Context, of *autorebootv1.ClusterRebootPolicy, reason, message string) error {
	return r.store(ctx, of, func(status *autorebootv1.ClusterRebootPolicyStatus, c *conditions.Update) {
		c.Set(autorebootv1.ConditionReady, metav1.ConditionFalse, reason, message)
		c.Set(autorebootv1.ConditionStalled, metav1.ConditionTrue, reason, message)
	})
}

// recordDeleting records that no policy is made or changed any more: finalizers of others may keep the object.
func (r *Reconciler) recordDeleting(ctx context.Context, of *autorebootv1.ClusterRebootPolicy) error {
	return r.store(ctx, of, func(_ *autorebootv1.ClusterRebootPolicyStatus, c *conditions.Update) {
		c.SetDeleting(of, "no policy is created or changed")
	})
}

// record records what became of the policies, and why there is none for some kinds.
func (r *Reconciler) record(ctx context.Context, of *autorebootv1.ClusterRebootPolicy, o *outcome, without []string) error {
	return r.store(ctx, of, func(status *autorebootv1.ClusterRebootPolicyStatus, c *conditions.Update) {
		status.Namespaces, status.Policies = ptr.To(int32(o.wanted)), ptr.To(int32(o.inStep))
		status.RefusedNamespaces = ptr.To(int32(len(o.refusals)))
		// Those of the API server first, since they take someone else to change.
		slices.SortStableFunc(o.refusals, func(a, b autorebootv1.NamespaceRefusal) int { return cmp.Compare(b.Reason, a.Reason) })
		status.Refusals = o.refusals[:min(len(o.refusals), maxRefusals)]
		of := events.Plural(o.wanted, "selected namespace has", "selected namespaces have") + " a workload for the policy"
		switch {
		case len(o.refusals) > 0:
			first := &o.refusals[0]
			c.Set(autorebootv1.ConditionReady, metav1.ConditionFalse, first.Reason, fmt.Sprintf("%s, and %d of them have it as the template says; it was refused in %d, such as in %s: %s",
				of, o.inStep, len(o.refusals), first.Namespace, first.Message))
		case o.more:
			c.Set(autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ClusterReasonNotInStep, fmt.Sprintf("%s, and %d of them have it as the template says so far", of, o.inStep))
		case len(o.deleting) > 0:
			first := o.deleting[0]
			c.Set(autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ClusterReasonNotInStep, fmt.Sprintf(
				"%s, and %d of them have it as the template says; it is being deleted in %d, such as in %s%s", of, o.inStep, len(o.deleting),
				first.Namespace, conditions.KeptBy(first)))
		default:
			have := map[bool]string{true: "has", false: "have"}[o.wanted == 1]
			message := strings.Join(append([]string{of + ", and " + have + " it as the template says"}, without...), "; ")
			c.Set(autorebootv1.ConditionReady, metav1.ConditionTrue, autorebootv1.ClusterReasonInStep, message)
		}
	})
}

// store writes the status where it differs, and then an event where Ready has changed.
func (r *Reconciler) store(
	ctx context.Context, of *autorebootv1.ClusterRebootPolicy, set func(*autorebootv1.ClusterRebootPolicyStatus, *conditions.Update),
) error {
	next := of.DeepCopy()
	next.Status.ObservedGeneration = of.Generation
	c := &conditions.Update{Conditions: &next.Status.Conditions, Generation: of.Generation, Now: metav1.NewTime(r.Now())}
	set(&next.Status, c)
	c.RemoveOthers(autorebootv1.ConditionStalled)
	if equality.Semantic.DeepEqual(of.Status, next.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, next); err != nil {
		return err
	}
	controller.WriteReadyEvent(r.Events, next, of.Status.Conditions, next.Status.Conditions, "Write")
	return nil
}
