// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// Reconcile decides about one policy, and restarts the workloads that may be restarted now.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	policy := &autorebootv1.RebootPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			err = r.resumeAll(ctx, req.NamespacedName)
		}
		return reconcile.Result{}, err
	}
	if !policy.DeletionTimestamp.IsZero() {
		r.forget(req.NamespacedName)
		err := client.IgnoreNotFound(r.recordDeleting(ctx, policy))
		return controller.ResultOf(errors.Join(r.resumeAll(ctx, req.NamespacedName), err))
	}
	requeue, err := r.reconcile(ctx, policy)
	if client.IgnoreNotFound(err) != nil {
		return controller.ResultOf(fmt.Errorf("rebootpolicy %s: %w", req.NamespacedName, err))
	}
	return controller.RequeueAt(r.Now(), requeue), nil
}

// reconcile runs the steps, and returns when to run them again.
func (r *Reconciler) reconcile(ctx context.Context, stored *autorebootv1.RebootPolicy) (time.Time, error) {
	o := r.begin(stored)
	if o.state.lastWrite.NewerThan(stored, o.now) {
		return time.Time{}, controller.ErrStale
	}
	if err := r.observe(ctx, o); errors.Is(err, workloadkinds.ErrUnknown) {
		return o.now.Add(readRetry), nil // it is enqueued as soon as it is known
	} else if err != nil {
		return time.Time{}, err
	}
	decision, err := r.decide(ctx, o)
	if err != nil {
		return time.Time{}, err
	}
	r.sendRequests(ctx, o)
	results, actErr := r.act(ctx, o, decision)
	requeue, recordErr := r.recordResults(ctx, o, decision, results)
	if recordErr == nil && len(results) > 0 {
		r.sendRequests(ctx, o) // not for a restart that was refused
	}
	if recordErr == nil {
		r.releaseClaims(o, decision.WaitsForOthers)
	}
	if err := errors.Join(o.failures...); err != nil {
		ctrllog.FromContext(ctx).Error(err, "What could not be read stays as it is", "retry", o.state.readRetry())
	} else {
		o.state.readFailures = 0
	}
	r.metrics.record(o.key, &o.stored.Status, o.sourceCount)
	return controller.Earliest(o.requeue, requeue), errors.Join(actErr, recordErr)
}
