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
	// quietStart is how long a new object may be without a status while its names are looked up and
	// its addresses checked for the first time, so that the first status is the whole of it.
	quietStart = time.Second
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

	authorities *authorities
	metrics     *metrics
	memories    *memories
}

func newReconciler(r Reconciler) *Reconciler {
	r.authorities = &authorities{reader: r.Secrets, now: r.Now}
	r.metrics = newMetrics(r.Now, r.Resolution)
	r.memories = &memories{}
	return &r
}

// Reconcile brings the cluster to what one ExternalService says. What it made is removed by the
// garbage collector when the object goes.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	es := &networkingv1.ExternalService{}
	if err := r.Client.Get(ctx, req.NamespacedName, es); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			r.memories.gone(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	bring := r.publish
	if !es.DeletionTimestamp.IsZero() {
		bring = r.release
	}
	result, err := bring(ctx, es)
	if err != nil {
		return controller.ResultOf(fmt.Errorf("externalservice %s: %w", req.NamespacedName, err))
	}
	return result, nil
}

func (r *Reconciler) publish(ctx context.Context, es *networkingv1.ExternalService) (reconcile.Result, error) {
	key, now := client.ObjectKeyFromObject(es), r.Now()
	report := newReport(es, now)
	rules.Default(es)
	if errs := rules.Publishable(es); len(errs) > 0 {
		return r.suspended(ctx, es, report, func() { report.invalid(errs) })
	}
	if ptr.Deref(es.Spec.Suspend, false) && !es.Status.Fault.Lasts() { // a fault ends first
		return r.suspended(ctx, es, report, report.suspended)
	}
	if err := r.hold(ctx, es); err != nil {
		return reconcile.Result{}, err
	}
	service, err := r.publishService(ctx, es)
	switch {
	case errors.Is(err, errForeignService):
		r.forget(key)
		report.conflicted(es)
		return reconcile.Result{RequeueAfter: conflictRetry}, r.writeStatus(ctx, es, report)
	case errors.Is(err, errReplacing):
		return reconcile.Result{RequeueAfter: replaceRetry}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return r.publishEndpoints(ctx, es, service, report)
}

// publishEndpoints looks at the outside, decides, and makes slices and status say so.
func (r *Reconciler) publishEndpoints(ctx context.Context, es *networkingv1.ExternalService, service *corev1.Service, report *report) (reconcile.Result, error) {
	key, now := client.ObjectKeyFromObject(es), r.Now()
	current, err := r.currentSlices(ctx, service.Namespace, service.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	m, fresh := r.memories.of(key, es.UID, now)
	if fresh { // also where another object has taken the name
		r.Resolution.Forget(key)
		r.Probes.Forget(key)
	}
	found := r.examine(ctx, es, current, m)
	begun := now.Sub(m.first)
	if found.waiting {
		if begun >= quietStart && es.Status.ObservedGeneration != es.Generation {
			report.waiting(service, &found)
			err = r.writeStatus(ctx, es, report)
		}
		return r.whileWaiting(es, &found, begun), err
	}
	if m.behind(current, now) {
		return reconcile.Result{RequeueAfter: controller.StaleRetry}, nil
	}
	decided := decide(membersOf(found.sites), r.circumstances(es, &found, m))
	if es.Status.ObservedGeneration <= 0 && len(current) == 0 && begun < quietStart && unchecked(&decided) {
		return reconcile.Result{RequeueAfter: quietStart - begun}, nil
	}
	injected, shown, err := r.inject(ctx, es, &found, &decided, m)
	if err != nil {
		return reconcile.Result{}, err
	}
	again := controller.Earliest(shown.again, found.again, injected.again)
	wanted := arrange(es.Name, current, shown.publish)
	changes := injected.effect || es.Status.Fault.Lasts() || injected.status != es.Status.Fault
	if due := m.postponed(es, service, current, wanted, &found, &shown, now); now.Before(due) && !changes {
		return controller.RequeueAt(now, again, due), nil
	}
	wrote, err := r.publishSlices(ctx, service, current, wanted, m)
	if wrote {
		writing.count(&m.slices, 1, now)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	m.learn(&decided, now, requestOf(es))
	r.metrics.record(key, &found, &shown, es.Spec.HealthCheck != nil, injected.status)
	report.injected(&injected, es.Annotations[networkingv1.InjectFaultAnnotation])
	report.published(es, service, &found, &shown, len(wanted))
	report.status.LastHandledFailback = m.handled
	if due := m.texts.at.Add(writing.hold(&m.texts, now)); now.Before(due) && onlyTexts(&es.Status, &report.status) {
		return controller.RequeueAt(now, again, due), nil
	}
	return controller.RequeueAt(now, again), r.writeStatus(ctx, es, report)
}

// whileWaiting is when to look again. A lookup that ends comes as an event.
func (r *Reconciler) whileWaiting(es *networkingv1.ExternalService, f *findings, begun time.Duration) reconcile.Result {
	switch {
	case begun < quietStart && es.Status.ObservedGeneration != es.Generation:
		return reconcile.Result{RequeueAfter: quietStart - begun}
	case f.unsynced:
		return reconcile.Result{RequeueAfter: unsyncedRetry}
	}
	return reconcile.Result{}
}

// unchecked says whether there are addresses to publish, and none has had its first check.
func unchecked(d *decision) bool {
	for _, p := range d.publish {
		if p.health != networkingv1.AddressUnknown {
			return false
		}
	}
	return len(d.publish) > 0
}

// circumstances are what there is to know for a decision.
func (r *Reconciler) circumstances(es *networkingv1.ExternalService, f *findings, m *memory) circumstances {
	c := circumstances{
		now: r.Now(), suspect: f.suspect, minHealthy: 1, failbackDelay: failbackDelay,
		lowest: lowest(f.sites), active: m.active, panicking: m.panicking, regained: m.regainedBy(r.Now()),
	}
	if es.Spec.HealthCheck != nil {
		c.checked, c.patience = true, patience(es.Spec.HealthCheck)
	}
	if o := es.Spec.Failover; o != nil {
		c.minHealthy = int(ptr.Deref(o.MinHealthyPercent, 1))
		c.panicThreshold = int(ptr.Deref(o.PanicThresholdPercent, 0))
		c.manual = ptr.Deref(o.Failback, networkingv1.FailbackAutomatic) == networkingv1.FailbackManual
		c.failbackDelay = o.FailbackDelay.Or(failbackDelay)
	}
	if m.handled == "" {
		m.handled = es.Status.LastHandledFailback
	}
	request := requestOf(es)
	c.requested = request != "" && request != m.handled
	return c
}

// maxRequest is how much of the annotation that asks for going back counts; the status holds no more.
const maxRequest = 256

// requestOf is the request to go back that stands on the object.
func requestOf(es *networkingv1.ExternalService) string {
	request := es.Annotations[networkingv1.FailbackRequestedAnnotation]
	if len(request) > maxRequest {
		request = strings.ToValidUTF8(request[:maxRequest], "")
	}
	return request
}

// failbackDelay holds where the spec was stored without defaults.
const failbackDelay = 5 * time.Minute

// lowest is the lowest priority that has an endpoint which is not drained.
func lowest(all []site) int32 {
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
	r.memories.drop(key)
	r.metrics.drop(key)
}
