// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// Reconcile decides about one ChaosPod, and does what may be done now.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	object := &chaosv1.ChaosPod{}
	if err := r.Client.Get(ctx, req.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !object.DeletionTimestamp.IsZero() {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	requeue, err := r.reconcile(ctx, object)
	if client.IgnoreNotFound(err) != nil {
		return controller.ResultOf(fmt.Errorf("chaospod %s: %w", req.NamespacedName, err))
	}
	return controller.RequeueAt(r.Now(), requeue), nil
}

// reconcile runs the steps, and returns when to run them again.
func (r *Reconciler) reconcile(ctx context.Context, stored *chaosv1.ChaosPod) (time.Time, error) {
	o := r.begin(r.deaths.restore(stored))
	if o.state.lastWrite.NewerThan(stored, o.now) { // the cache does not show our last write yet
		return time.Time{}, controller.ErrStale
	}
	if err := r.restoreStatus(ctx, o); err != nil {
		return time.Time{}, err
	}
	decision, err := r.decide(ctx, o)
	if err != nil {
		return time.Time{}, err
	}
	r.sendRequests(ctx, o) // before the first victim dies
	results, actErr := r.act(ctx, o, decision)
	requeue, recordErr := r.recordResults(ctx, o, &decision, results)
	if recordErr == nil && o.stored.Status.CurrentRun == nil {
		r.sendRequests(ctx, o) // stops them: the run is over
	}
	if recordErr == nil {
		r.deaths.record(o.stored)
		r.releaseClaims(o, &decision)
	}
	r.metrics.Update(o.key, func(m *row) { m.active = o.stored.Status.CurrentRun != nil })
	return controller.Earliest(o.requeue, requeue), errors.Join(actErr, recordErr)
}
