// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const (
	// conflictRetry is how often a Service of another owner is read again: it is not in the cache.
	conflictRetry = 30 * time.Second
	// replaceRetry is the wait for a Service that is being deleted.
	replaceRetry = time.Second
)

// Reconciler reconciles ExternalServices.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Secrets reads the Secrets that health checks name.
	Secrets client.Reader
	// Events go on the ExternalService.
	Events recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Resolution, Probes and Policy are the sources of addresses, of their health, and of permission.
	Resolution Resolution
	Probes     Probes
	Policy     endpoints.Policy
	// DrainPeriod is how long the endpoints of a deleted object are terminating.
	DrainPeriod time.Duration
	// Freeze holds the blackouts of the cluster, during which no fault is injected.
	Freeze *freeze.Freeze
	// WebhookExemptNamespaces are the namespaces that the webhooks are not called for. No fault is injected in
	// them.
	WebhookExemptNamespaces []string

	caBundles *caBundles
	metrics   *metrics
	states    *stateStore
}

func newReconciler(r Reconciler) *Reconciler {
	r.caBundles = &caBundles{reader: r.Secrets, now: r.Now}
	r.metrics = newMetrics(r.Now, r.Resolution)
	r.states = &stateStore{}
	return &r
}

// Reconcile brings the Service and the EndpointSlices of one ExternalService to what its spec says.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	es := &networkingv1.ExternalService{}
	if err := r.Client.Get(ctx, req.NamespacedName, es); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			r.states.dropDeleted(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	step := r.publish
	if !es.DeletionTimestamp.IsZero() {
		step = r.finalize
	}
	result, err := step(ctx, es)
	if err != nil {
		return controller.ResultOf(fmt.Errorf("externalservice %s: %w", req.NamespacedName, err))
	}
	return result, nil
}

// publish reconciles an object that is not being deleted. Its steps are in the order of their urgency: what takes traffic
// off an address or ends a fault, what is added, and the status, which has the words of each that the API server refused.
// None waits for the success of another, except that slices need a Service.
func (r *Reconciler) publish(ctx context.Context, es *networkingv1.ExternalService) (reconcile.Result, error) {
	update := newStatusUpdate(es, r.Now())
	rules.Default(es)
	if errs := rules.Publishable(es); len(errs) > 0 {
		return r.reconcileSuspended(ctx, es, update, func() { update.setInvalid(errs) })
	}
	if *es.Spec.Suspend && !es.Status.Fault.Lasts() { // a fault ends first
		return r.reconcileSuspended(ctx, es, update, update.setSuspended)
	}
	p, err := r.newReconciliation(ctx, es, update)
	if err != nil {
		return r.conflictResult(ctx, es, update, err)
	}
	hold, due := p.decide(ctx)
	if !hold {
		p.withdraw(ctx)
	}
	if err := p.protect(ctx); err != nil {
		return r.conflictResult(ctx, es, update, err)
	}
	p.selectedDue = p.removeSelected(ctx)
	if hold {
		return p.hold(ctx, controller.Earliest(due, p.selectedDue))
	}
	if due := p.postponeUntil(); p.now.Before(due) {
		return p.hold(ctx, controller.Earliest(due, p.selectedDue))
	}
	p.extend(ctx)
	return p.report(ctx)
}

// conflictResult is what a reconcile returns whose Service has another owner, or is being replaced.
func (r *Reconciler) conflictResult(
	ctx context.Context, es *networkingv1.ExternalService, update *statusUpdate, err error,
) (reconcile.Result, error) {
	switch {
	case errors.Is(err, errForeignService):
		r.forget(client.ObjectKeyFromObject(es))
		update.setConflict(es, errors.Is(err, errOrphanedService))
		return reconcile.Result{RequeueAfter: conflictRetry}, r.writeStatus(ctx, es, update)
	case errors.Is(err, errReplacing):
		return reconcile.Result{RequeueAfter: replaceRetry}, nil
	}
	return reconcile.Result{}, err
}

// apply applies an object as our field owner.
func (r *Reconciler) apply(ctx context.Context, object runtime.ApplyConfiguration) error {
	return r.Client.Apply(ctx, object, client.FieldOwner(common.FieldOwner), client.ForceOwnership)
}

// forget stops lookups and checks of an object, and drops its state and metrics.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.Resolution.Forget(key)
	r.Probes.Forget(key)
	r.states.drop(key)
	r.metrics.drop(key)
}
