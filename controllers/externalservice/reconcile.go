// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const (
	// conflictRetry is how often a foreign Service is looked at again: it is not in the cache.
	conflictRetry = 30 * time.Second
	// replaceRetry is the wait for a Service that is being removed.
	replaceRetry = time.Second
	// unsyncedRetry is how often it is looked whether the policy can judge at last. That, too, comes
	// as an event.
	unsyncedRetry = 5 * time.Second
	// firstStatusDelay is how long a new object may be without a status while its names are looked up and
	// its addresses checked for the first time, so that the first status is the whole of it.
	firstStatusDelay = time.Second
)

// Reconciler publishes ExternalServices.
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
	// Resolution, Probes and Policy know the outside.
	Resolution Resolution
	Probes     Probes
	Policy     Policy
	// DrainPeriod is how long the endpoints of a deleted object stand as terminating.
	DrainPeriod time.Duration
	// Freeze knows the blackouts of the cluster, in which no fault is injected.
	Freeze *freeze.Freeze
	// WebhookExemptNamespaces are the namespaces that admission is not called for, in which none is either.
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

// Reconcile brings the cluster to what one ExternalService says. What it made is removed by the
// garbage collector when the object goes.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	es := &networkingv1.ExternalService{}
	if err := r.Client.Get(ctx, req.NamespacedName, es); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			r.states.dropDrain(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	bring := r.publish
	if !es.DeletionTimestamp.IsZero() {
		bring = r.finalize
	}
	result, err := bring(ctx, es)
	if err != nil {
		return controller.ResultOf(fmt.Errorf("externalservice %s: %w", req.NamespacedName, err))
	}
	return result, nil
}

func (r *Reconciler) publish(ctx context.Context, es *networkingv1.ExternalService) (reconcile.Result, error) {
	key, now := client.ObjectKeyFromObject(es), r.Now()
	report := newStatusUpdate(es, now)
	rules.Default(es)
	if errs := rules.Publishable(es); len(errs) > 0 {
		return r.reconcileSuspended(ctx, es, report, func() { report.setInvalid(errs) })
	}
	if ptr.Deref(es.Spec.Suspend, false) && !es.Status.Fault.Lasts() { // a fault ends first
		return r.reconcileSuspended(ctx, es, report, report.setSuspended)
	}
	if err := r.addFinalizer(ctx, es); err != nil {
		return reconcile.Result{}, err
	}
	service, err := r.publishService(ctx, es)
	switch {
	case errors.Is(err, errForeignService):
		r.forget(key)
		report.setConflict(es)
		return reconcile.Result{RequeueAfter: conflictRetry}, r.writeStatus(ctx, es, report)
	case errors.Is(err, errReplacing):
		return reconcile.Result{RequeueAfter: replaceRetry}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return r.publishEndpoints(ctx, es, service, report)
}

// publishEndpoints looks at the outside, decides, and makes slices and status say so.
func (r *Reconciler) publishEndpoints(ctx context.Context, es *networkingv1.ExternalService, service *corev1.Service, report *statusUpdate) (reconcile.Result, error) {
	key, now := client.ObjectKeyFromObject(es), r.Now()
	current, err := r.currentSlices(ctx, service.Namespace, service.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	m, fresh := r.states.get(key, es.UID, now)
	if fresh { // also where another object has taken the name
		r.Resolution.Forget(key)
		r.Probes.Forget(key)
	}
	found := r.observe(ctx, es, current, m)
	begun := now.Sub(m.firstSeen)
	if found.incomplete {
		if begun >= firstStatusDelay && es.Status.ObservedGeneration != es.Generation {
			report.setIncomplete(service, &found)
			err = r.writeStatus(ctx, es, report)
		}
		return r.incompleteResult(es, &found, begun), err
	}
	if m.cacheStale(current, now) {
		return reconcile.Result{RequeueAfter: controller.StaleRetry}, nil
	}
	decided := decide(candidatesOf(found.endpoints), r.failoverInput(es, &found, m))
	if es.Status.ObservedGeneration <= 0 && len(current) == 0 && begun < firstStatusDelay && awaitsFirstProbe(&decided) {
		return reconcile.Result{RequeueAfter: firstStatusDelay - begun}, nil
	}
	injected, shown, err := r.inject(ctx, es, &found, &decided, m)
	if err != nil {
		return reconcile.Result{}, err
	}
	again := controller.Earliest(shown.requeueAt, found.requeueAt, injected.requeueAt)
	wanted := packSlices(es.Name, current, shown.published)
	changes := injected.inEffect || es.Status.Fault.Lasts() || injected.status != es.Status.Fault
	if due := m.postponeUntil(es, service, current, wanted, &found, &shown, now); now.Before(due) && !changes {
		return controller.RequeueAt(now, again, due), nil
	}
	wrote, err := r.publishSlices(ctx, service, current, wanted, m)
	if wrote {
		writeDamping.add(&m.sliceWriteRate, 1, now)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	m.recordDecision(&decided, now, failbackRequest(es))
	r.metrics.record(key, &found, &shown, es.Spec.HealthCheck != nil, injected.status)
	report.setFault(&injected, es.Annotations[networkingv1.InjectFaultAnnotation])
	report.setPublished(es, service, &found, &shown, len(wanted))
	report.status.LastHandledFailback = m.handledFailback
	if due := m.statusWriteRate.at.Add(writeDamping.delay(&m.statusWriteRate, now)); now.Before(due) && onlyTextDiffers(&es.Status, &report.status) {
		return controller.RequeueAt(now, again, due), nil
	}
	return controller.RequeueAt(now, again), r.writeStatus(ctx, es, report)
}

// incompleteResult is when to look again. A lookup that ends comes as an event.
func (r *Reconciler) incompleteResult(es *networkingv1.ExternalService, f *observation, begun time.Duration) reconcile.Result {
	switch {
	case begun < firstStatusDelay && es.Status.ObservedGeneration != es.Generation:
		return reconcile.Result{RequeueAfter: firstStatusDelay - begun}
	case f.policyUnsynced:
		return reconcile.Result{RequeueAfter: unsyncedRetry}
	}
	return reconcile.Result{}
}

// awaitsFirstProbe says whether there are addresses to publish, and none has had its first check.
func awaitsFirstProbe(d *decision) bool {
	for _, p := range d.published {
		if p.health != networkingv1.AddressUnknown {
			return false
		}
	}
	return len(d.published) > 0
}

// failoverInput are what there is to know for a decision.
func (r *Reconciler) failoverInput(es *networkingv1.ExternalService, f *observation, m *objectState) failoverInput {
	c := failoverInput{
		now: r.Now(), suspect: f.suspect, minHealthy: 1, failbackDelay: failbackDelay,
		lowest: lowest(f.endpoints), active: m.active, panicking: m.panicking, qualifiedSince: m.qualifiedSinceAt(r.Now()),
	}
	if es.Spec.HealthCheck != nil {
		c.checked, c.firstProbeGrace = true, firstProbeGrace(es.Spec.HealthCheck)
	}
	if o := es.Spec.Failover; o != nil {
		c.minHealthy = int(ptr.Deref(o.MinHealthyPercent, 1))
		c.panicThreshold = int(ptr.Deref(o.PanicThresholdPercent, 0))
		c.manualFailback = ptr.Deref(o.Failback, networkingv1.FailbackAutomatic) == networkingv1.FailbackManual
		c.failbackDelay = o.FailbackDelay.Or(failbackDelay)
	}
	if m.handledFailback == "" {
		m.handledFailback = es.Status.LastHandledFailback
	}
	request := failbackRequest(es)
	c.failbackRequested = request != "" && request != m.handledFailback
	return c
}

// maxRequest is how much of the annotation that asks for going back counts; the status holds no more.
const maxRequest = 256

// failbackRequest is the request to go back that stands on the object.
func failbackRequest(es *networkingv1.ExternalService) string {
	request := es.Annotations[networkingv1.FailbackRequestedAnnotation]
	if len(request) > maxRequest {
		request = strings.ToValidUTF8(request[:maxRequest], "")
	}
	return request
}

// failbackDelay holds where the spec was stored without defaults.
const failbackDelay = 5 * time.Minute

// lowest is the lowest priority that has an endpoint which is not drained.
func lowest(all []resolvedEndpoint) int32 {
	least := int32(-1)
	for i := range all {
		if s := &all[i]; !s.drained && (least < 0 || s.priority < least) {
			least = s.priority
		}
	}
	return max(least, 0)
}

// forget ends everything that goes on for an object.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.Resolution.Forget(key)
	r.Probes.Forget(key)
	r.states.drop(key)
	r.metrics.drop(key)
}
