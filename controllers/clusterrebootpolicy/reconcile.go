// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterrebootpolicy

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/approval"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// retryRefused is the wait before a write is repeated that was refused: a quota, a policy or a right may have changed, of
// which no event tells. It doubles up to lastRetryRefused, since a policy can refuse it in thousands of namespaces.
const (
	retryRefused     = time.Minute
	lastRetryRefused = 16 * time.Minute
)

// Reconciler keeps the policies of ClusterRebootPolicies in step with their templates.
type Reconciler struct {
	// Client reads from the cache and writes to the API server, and Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Events are written about ClusterRebootPolicies and about policies that were changed by hand.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// WebhookExemptNamespaces are namespaces in which no policy is made.
	WebhookExemptNamespaces []string
	// Kinds has workloads in the cache of the kinds that a cluster need not have; nil where Rollouts are there in any case.
	Kinds *workloadkinds.Watches

	enqueuer *controller.CoalescingEnqueuer
	// refused are refusals by the name of the object. One reconcile runs at a time.
	refused map[string]*refusals
}

// Reconcile implements reconcile.Reconciler. The policies of an object that is invalid, or that no approval covers, stay as
// they are. Those of one that is deleted are deleted by the garbage collector.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var of autorebootv1.ClusterRebootPolicy
	if err := r.Client.Get(ctx, req.NamespacedName, &of); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.enqueuer.Forget(req.NamespacedName)
			delete(r.refused, req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !of.DeletionTimestamp.IsZero() {
		return controller.ResultOf(client.IgnoreNotFound(r.recordDeleting(ctx, &of)))
	}
	result, err := r.reconcile(ctx, &of)
	if err != nil {
		return controller.ResultOf(fmt.Errorf("clusterrebootpolicy %s: %w", req.Name, err))
	}
	return result, nil
}

// reconcile is Reconcile for an object that is not being deleted.
func (r *Reconciler) reconcile(ctx context.Context, of *autorebootv1.ClusterRebootPolicy) (reconcile.Result, error) {
	if errs := rules.ValidateCluster(of, nil); len(errs) > 0 {
		return reconcile.Result{}, r.recordBlocked(ctx, of, common.ReasonInvalidSpec, errs.ToAggregate().Error())
	}
	if !approval.ClusterRebootPolicyApproved(of) {
		return reconcile.Result{}, r.recordBlocked(ctx, of, autorebootv1.ReasonForbidden,
			"not approved: apply it again as a user who may patch the target workloads in all namespaces, or have that user set annotation "+common.ApprovedByAnnotation+" to any value")
	}
	var without []string
	for _, kind := range rules.OptionalKinds(&of.Spec.Template.Spec) {
		switch state := r.Kinds.Want(kind, ""); {
		case !state.Known: // it is enqueued as soon as it is
			return reconcile.Result{RequeueAfter: retryRefused}, nil
		case state.Unreadable:
			return reconcile.Result{}, r.recordBlocked(ctx, of, autorebootv1.ReasonForbidden, state.Why)
		case !state.Served:
			without = append(without, state.Why)
		}
	}
	wanted, err := r.wanted(ctx, of)
	if err != nil {
		return reconcile.Result{}, err
	}
	o, err := r.write(ctx, of, wanted)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.record(ctx, of, &o, without); err != nil {
		return reconcile.Result{}, err
	}
	switch {
	case o.more:
		return reconcile.Result{RequeueAfter: controller.CoalescingInterval}, nil
	case !o.retryAt.IsZero():
		return reconcile.Result{RequeueAfter: max(o.retryAt.Sub(r.Now()), time.Second)}, nil
	}
	return reconcile.Result{}, nil
}
