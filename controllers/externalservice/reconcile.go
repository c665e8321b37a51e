// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const (
	// conflictRetry is how often a Service of another owner is read again: it is not in the cache.
	conflictRetry = 30 * time.Second
	// replaceRetry is the wait for a Service that is being deleted.
	replaceRetry = time.Second
	// unsyncedRetry is how often an object is reconciled until the egress policy has synced, should the
	// event that says so be lost.
	unsyncedRetry = 5 * time.Second
	// firstStatusDelay is how long a new object may be without a status while its names are looked up for the
	// first time, so that the first status is complete.
	firstStatusDelay = time.Second
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
	Policy     Policy
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

// Reconcile brings the Service and the EndpointSlices of one ExternalService to what its spec says. The
// garbage collector removes them with the object.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	es := &networkingv1.ExternalService{}
	if err := r.Client.Get(ctx, req.NamespacedName, es); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			r.states.dropDrain(req.NamespacedName)
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

// publish reconciles an object that is not being deleted.
func (r *Reconciler) publish(ctx context.Context, es *networkingv1.ExternalService) (reconcile.Result, error) {
	key, now := client.ObjectKeyFromObject(es), r.Now()
	update := newStatusUpdate(es, now)
	rules.Default(es)
	if errs := rules.Publishable(es); len(errs) > 0 {
		return r.reconcileSuspended(ctx, es, update, func() { update.setInvalid(errs) })
	}
	if *es.Spec.Suspend && !es.Status.Fault.Lasts() { // a fault ends first
		return r.reconcileSuspended(ctx, es, update, update.setSuspended)
	}
	if err := r.addFinalizer(ctx, es); err != nil {
		return reconcile.Result{}, err
	}
	service, err := r.publishService(ctx, es)
	switch {
	case errors.Is(err, errForeignService):
		r.forget(key)
		update.setConflict(es)
		return reconcile.Result{RequeueAfter: conflictRetry}, r.writeStatus(ctx, es, update)
	case errors.Is(err, errReplacing):
		return reconcile.Result{RequeueAfter: replaceRetry}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return r.publishEndpoints(ctx, es, service, update)
}

// publishEndpoints observes the addresses, decides which to publish, and writes slices and status.
func (r *Reconciler) publishEndpoints(ctx context.Context, es *networkingv1.ExternalService, service *corev1.Service, update *statusUpdate) (reconcile.Result, error) {
	key, now := client.ObjectKeyFromObject(es), r.Now()
	current, err := r.currentSlices(ctx, service.Namespace, service.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	state, isNew := r.states.get(key, es.UID, now)
	if isNew { // also where another object has taken the name
		r.Resolution.Forget(key)
		r.Probes.Forget(key)
	}
	state.clusterIP = service.Spec.ClusterIP
	observed := r.observe(ctx, es, current, state)
	age := now.Sub(state.firstSeen)
	if observed.incomplete {
		if age >= firstStatusDelay && es.Status.ObservedGeneration != es.Generation {
			update.setIncomplete(service, &observed)
			err = r.writeStatus(ctx, es, update)
		}
		return r.incompleteResult(es, &observed, age), err
	}
	if state.cacheStale(current, now) {
		return reconcile.Result{RequeueAfter: controller.StaleRetry}, nil
	}
	decided := decide(candidatesOf(observed.endpoints), r.failoverInput(es, &observed, state))
	if due := state.awaitFirstProbes(current, &observed, &decided); now.Before(due) {
		return reconcile.Result{RequeueAfter: due.Sub(now)}, nil
	}
	fault, shown, err := r.inject(ctx, es, &observed, &decided, state)
	if err != nil {
		return reconcile.Result{}, err
	}
	requeueAt := controller.Earliest(shown.requeueAt, observed.requeueAt, fault.requeueAt)
	wanted := packSlices(es.Name, current, shown.published)
	faultChanges := fault.inEffect || es.Status.Fault.Lasts() || fault.status != es.Status.Fault
	if due := state.postponeUntil(es, service, current, wanted, &observed, &shown, now); now.Before(due) && !faultChanges {
		return controller.RequeueAt(now, requeueAt, due), nil
	}
	wrote, err := r.publishSlices(ctx, service, current, wanted, state)
	if wrote {
		writeDamping.add(&state.sliceWriteRate, 1, now)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	state.recordDecision(&decided, now, failbackRequest(es))
	r.metrics.record(key, &observed, &shown, es.Spec.HealthCheck != nil, fault.status)
	update.setFault(&fault, es.Annotations[networkingv1.InjectFaultAnnotation])
	update.setPublished(es, service, &observed, &shown, len(wanted))
	update.status.LastHandledFailback = state.handledFailback
	if due := state.statusWriteRate.at.Add(writeDamping.delay(&state.statusWriteRate, now)); now.Before(due) && onlyTextDiffers(&es.Status, &update.status) {
		return controller.RequeueAt(now, requeueAt, due), nil
	}
	return controller.RequeueAt(now, requeueAt), r.writeStatus(ctx, es, update)
}

// incompleteResult returns when to reconcile again while the observation is incomplete. A lookup that ends
// enqueues the object.
func (r *Reconciler) incompleteResult(es *networkingv1.ExternalService, o *observation, age time.Duration) reconcile.Result {
	switch {
	case age < firstStatusDelay && es.Status.ObservedGeneration != es.Generation:
		return reconcile.Result{RequeueAfter: firstStatusDelay - age}
	case o.policyUnsynced:
		return reconcile.Result{RequeueAfter: unsyncedRetry}
	}
	return reconcile.Result{}
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
