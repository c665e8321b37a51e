// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const (
	// conflictRetry is how often a foreign Service is looked at again: it is not in the cache.
	conflictRetry = 30 * time.Second
	// replaceRetry is the wait for a Service that is being removed.
	replaceRetry = time.Second
)

// Reconciler publishes ExternalServices.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Events go on the ExternalService.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
}

// Reconcile brings the cluster to what one ExternalService says. What it made is removed by the
// garbage collector when the object goes.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	es := &networkingv1.ExternalService{}
	if err := r.Client.Get(ctx, req.NamespacedName, es); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	es = es.DeepCopy() // the cache's copy is shared
	if !es.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.release(ctx, es)
	}
	result, err := r.publish(ctx, es)
	switch {
	case err == nil:
		return result, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: replaceRetry}, nil // the cache is behind
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, fmt.Errorf("externalservice %s: %w", req.NamespacedName, err)
}

func (r *Reconciler) publish(ctx context.Context, es *networkingv1.ExternalService) (reconcile.Result, error) {
	report := newReport(es, r.Now())
	rules.Default(es)
	if errs := rules.Validate(es, nil); len(errs) > 0 {
		report.invalid(errs)
		return reconcile.Result{}, r.writeStatus(ctx, es, report)
	}
	if ptr.Deref(es.Spec.Suspend, false) {
		return reconcile.Result{}, r.writeStatus(ctx, es, report)
	}
	if err := r.holdForOrphan(ctx, es); err != nil {
		return reconcile.Result{}, err
	}
	service, err := r.publishService(ctx, es)
	switch {
	case errors.Is(err, errForeignService):
		report.conflicted(es)
		return reconcile.Result{RequeueAfter: conflictRetry}, r.writeStatus(ctx, es, report)
	case errors.Is(err, errReplacing):
		return reconcile.Result{RequeueAfter: replaceRetry}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	chosen := choose(&es.Spec)
	wanted := slicesOf(es.Name, chosen.addresses)
	if err := r.publishSlices(ctx, service, wanted); err != nil {
		return reconcile.Result{}, err
	}
	report.published(es, service, chosen, len(wanted))
	return reconcile.Result{}, r.writeStatus(ctx, es, report)
}

// writeStatus writes what changed, if anything did, and tells of a transition by an event.
func (r *Reconciler) writeStatus(ctx context.Context, es *networkingv1.ExternalService, report *report) error {
	if apiequality.Semantic.DeepEqual(es.Status, report.status) {
		return nil
	}
	before := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionReady)
	updated := es.DeepCopy()
	updated.Status = report.status
	patch := client.MergeFromWithOptions(es, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, updated, patch); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	after := meta.FindStatusCondition(report.status.Conditions, networkingv1.ConditionReady)
	if after == nil || before != nil && before.Status == after.Status && before.Reason == after.Reason {
		return nil
	}
	kind := corev1.EventTypeNormal
	if after.Status != "True" {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(es, nil, kind, after.Reason, "Publish", "%s", after.Message)
	return nil
}
