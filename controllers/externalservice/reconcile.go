// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

const (
	// conflictRetry is how often a Service of another owner is read again: it is not in the cache.
	conflictRetry = 30 * time.Second
	// replaceRetry is the wait for a Service that is being deleted.
	replaceRetry = time.Second
)

// Reconcile brings the Service and the EndpointSlices of one ExternalService to what its spec says.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	es := &networkingv1.ExternalService{}
	if err := r.Client.Get(ctx, req.NamespacedName, es); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			r.forgetStatus(req.NamespacedName)
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
	update := newStatusUpdate(es, r.Now())
	rules.Default(es)
	if errs := rules.Publishable(es); len(errs) > 0 {
		return r.reconcileSuspended(ctx, es, update, func() { update.setInvalid(errs) })
	}
	if *es.Spec.Suspend && !es.Status.Fault.Lasts() { // a fault ends first
		return r.reconcileSuspended(ctx, es, update, update.setSuspended)
	}
	of, err := r.newReconciliation(ctx, es, update)
	if err == nil {
		return of.run(ctx)
	}
	return r.conflictResult(ctx, es, update, err)
}

// run has the steps, in the order of their urgency: what takes traffic off an address or ends a fault, what is added, and the
// status, which has the words of each that the API server refused. The NetworkPolicy allows an address before a slice has it,
// and until none has. Each step is on its own: its errors are collected, and stop no other, except that slices need a Service
// that is ours, a Service becomes ours once the finalizer is there, and its ports change once slices have them.
func (r *reconciliation) run(ctx context.Context) (reconcile.Result, error) {
	r.decide(ctx)
	r.withdraw(ctx)
	if err := r.protect(ctx); err != nil {
		return r.conflictResult(ctx, r.es, r.update, err)
	}
	r.widen(ctx)
	r.selectedDue = r.removeSelected(ctx)
	r.postpone()
	r.extend(ctx)
	r.narrow(ctx)
	return r.report(ctx)
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

// reconciliation is one reconcile of an object that is published: what is known, what is decided, and which writes failed.
type reconciliation struct {
	*Reconciler
	es     *networkingv1.ExternalService
	state  *objectState
	update *statusUpdate
	now    time.Time
	found  foundService
	// service is the one that the slices belong to, or nil. unread means that it could not be read, and is known by the
	// status.
	service *corev1.Service
	unread  bool
	// stands are the ports of the Service at the beginning, and isServiceRefused means that it could not be written.
	stands           []corev1.ServicePort
	isServiceRefused bool
	current          []*discoveryv1.EndpointSlice
	// foreign are the names of EndpointSlices of others.
	foreign []string
	// policy is the NetworkPolicy as it is, or nil. isNetworkPolicyRefused means that it could not be read or written, and
	// isStale that the cache lacks writes of this process.
	policy                 *netv1.NetworkPolicy
	isNetworkPolicyRefused bool
	isStale                bool
	// input is what is known for a decision.
	input   failover.Input
	decided failover.Decision
	// shown is what slices show of the decision, and wanted are the slices that it needs.
	shown    failover.Choice
	wanted   []publication.Slice
	writer   *sliceWriter
	refusals refusals
	// selectedDue is when to look again for what was made of a selector.
	selectedDue time.Time
}

// newReconciliation reads what there is. A Service that cannot be read is the one of the status as far as its slices say so.
func (r *Reconciler) newReconciliation(
	ctx context.Context, es *networkingv1.ExternalService, update *statusUpdate,
) (*reconciliation, error) {
	key := client.ObjectKeyFromObject(es)
	of := &reconciliation{Reconciler: r, es: es, update: update, now: r.Now(), state: r.states.Get(es)}
	isNew := of.state.failover.FirstSeen.IsZero()
	if isNew { // also where another object has taken the name
		r.Resolution.Forget(key)
		r.Probes.Forget(key)
		of.state.failover.FirstSeen = of.now
	}
	var err error
	if of.found, err = r.findService(ctx, es, isNew); errors.Is(err, errForeignService) {
		return nil, err
	}
	of.refusals.add(err)
	of.unread = err != nil
	switch ref := es.Status.ServiceRef; {
	case of.found.ours:
		of.service = of.found.service
	case of.unread && ref != nil:
		of.service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: es.Namespace, Name: es.Name, UID: ref.UID}}
	}
	if of.current, of.foreign, err = r.slicesOf(ctx, es.Namespace, es.Name); err != nil {
		return nil, err
	}
	if of.policy, err = r.networkPolicyOf(ctx, es); err != nil {
		of.refusals.add(err)
		of.isNetworkPolicyRefused = true
	}
	if of.found.ours {
		of.state.families, of.stands = endpoints.FamiliesOf(of.service), of.service.Spec.Ports
	}
	return of, nil
}

// decide observes the addresses and decides which to publish.
func (r *reconciliation) decide(ctx context.Context) {
	r.input = r.observe(ctx, r.es, r.current, r.update.edits(r.es), r.state)
	switch {
	case r.state.cacheStale(r.current, r.policy, r.now):
		r.isStale = true
		r.hold(r.now.Add(controller.StaleRetry))
		return
	case failover.ConcernsFault(r.es) && r.statuses.Get(r.es).lastWrite.NewerThan(r.es, r.now):
		r.refusals.add(controller.ErrStale)
		r.hold(time.Time{})
		return
	}
	if r.decided = r.state.failover.Decide(&r.input); r.decided.IsHeld {
		return
	}
	if err := r.confirmFault(ctx); err != nil {
		r.refusals.add(err)
		r.hold(time.Time{})
		return
	}
	r.shown = r.decided.Shown
	r.wanted = r.packed(r.current, publication.Ports(r.es))
	if r.input.Observed.IsIncomplete && r.isPublished() { // until the lookup ends there is nothing to tell
		r.hold(r.shown.RequeueAt)
	}
}

// hold has slices and status stay as they are until then. Zero means until something is enqueued.
func (r *reconciliation) hold(until time.Time) { r.decided.IsHeld, r.decided.RequeueAt = true, until }

// confirmFault reads a fault that takes effect from the API server, once: another process may have ended it.
func (r *reconciliation) confirmFault(ctx context.Context) error {
	requested := r.es.Annotations[networkingv1.InjectFaultAnnotation]
	if !r.decided.Fault.IsInEffect || r.state.confirmedFault == requested {
		return nil
	}
	if err := controller.ConfirmStored(ctx, r.Live, r.es, &networkingv1.ExternalService{}); err != nil {
		return err
	}
	r.state.confirmedFault = requested
	return nil
}

// isPublished reports whether the spec is published as far as it is known.
func (r *reconciliation) isPublished() bool {
	return r.es.Status.ObservedGeneration == r.es.Generation && r.service != nil && publication.AreCurrent(r.service, r.current, r.wanted)
}

// withdraw takes traffic off addresses, whatever becomes of the Service and of what is added.
func (r *reconciliation) withdraw(ctx context.Context) {
	if r.decided.IsHeld {
		return
	}
	var held []endpoints.Held
	if r.service != nil && !publication.AreCurrent(r.service, r.current, r.wanted) {
		held = endpoints.HeldIn(r.es, r.current, r.Policy, true)
	}
	r.writer = r.newSliceWriter(r.service, r.current, r.decided.Fitness(r.input.Observed.Endpoints, held), r.state, &r.refusals)
	if r.isLimited() {
		r.writer.allow = r.allow
	}
	if r.service != nil {
		r.writer.withdraw(ctx, r.wanted)
	}
}

// protect has the finalizer and the Service in place. The error is errForeignService or errReplacing. A Service that is not
// ours yet would outlive an object without the finalizer.
func (r *reconciliation) protect(ctx context.Context) error {
	refused := r.addFinalizer(ctx, r.es)
	r.refusals.add(refused)
	if r.unread || refused != nil && !r.found.ours {
		return nil
	}
	service, err := r.ensureService(ctx, r.es, r.found)
	switch {
	case errors.Is(err, errForeignService), errors.Is(err, errReplacing):
		return err
	case err != nil:
		r.refusals.add(err)
		r.isServiceRefused = true
		return nil
	}
	r.service, r.state.clusterIP = service, service.Spec.ClusterIP
	return nil
}

// postpone holds slices and status where they change all the time.
func (r *reconciliation) postpone() {
	if r.decided.IsHeld || r.service == nil || r.state.refused > 0 || r.refusals.any() {
		return
	}
	due := r.state.failover.PostponeUntil(&r.input, &r.decided)
	if r.now.Before(due) && !publication.AreCurrent(r.service, r.current, r.wanted) {
		r.hold(due)
	}
}

// packed returns the slices that are wanted behind a Service with these ports.
func (r *reconciliation) packed(current []*discoveryv1.EndpointSlice, ports []corev1.ServicePort) []publication.Slice {
	return publication.Wanted(r.es, current, publication.Under(ports, r.es, r.stands, current, r.shown.Wanted()))
}

// extend writes the slices that are left and the ports of the Service, and stores what has become of all writes of slices. A
// decision that slices do not show was not made: the one before is in force as far as they show it.
func (r *reconciliation) extend(ctx context.Context) {
	w, mayExtend := r.writer, r.service != nil && !r.unread
	if r.decided.IsHeld {
		if ports := publication.Ports(r.es); mayExtend && (len(r.current) == 0 || publication.AreSame(r.service.Spec.Ports, ports)) {
			r.changePorts(ctx, ports, true)
		}
		return
	}
	if mayExtend {
		w.service = r.service
		r.replace(ctx)
	}
	if w.wrote {
		r.state.failover.SliceWrites.Count(r.now)
	}
	if mayExtend && !w.failed {
		r.state.failover.Record(&r.input, &r.decided.Actual)
		return
	}
	r.shown = r.state.failover.InForce(&r.input, &r.shown, endpoints.PublishedIn(maps.Values(w.held)))
}

// replace makes before it breaks: slices by the names that the Service gets, then its ports, then the other slices go. Without
// all of these slices, its ports change only where nothing is lost by it. A Service that keeps its ports, since one of these is
// refused, keeps slices by their names.
func (r *reconciliation) replace(ctx context.Context) {
	w, ports := r.writer, publication.Ports(r.es)
	for range 2 { // the first may be for names in between
		next := publication.NextPorts(r.service, ports, w.current(), publication.Under(ports, r.es, r.stands, w.current(), r.shown.Wanted()))
		wanted := r.packed(w.current(), next)
		isClear := w.removeUnused(ctx, r.service, wanted)
		isComplete := w.add(ctx, wanted)
		isDue := isClear && (isComplete || !publication.LosesEndpoints(r.service.Spec.Ports, next, w.current()))
		hasChanged := r.changePorts(ctx, next, isDue)
		if !hasChanged {
			still := r.packed(w.current(), r.service.Spec.Ports)
			isComplete = w.add(ctx, still) && isComplete
			wanted = append(wanted, still...)
		}
		w.remove(ctx, wanted, isComplete && isClear)
		if !hasChanged || !isComplete || publication.AreSame(next, ports) {
			return
		}
	}
}

// changePorts has the Service get ports if that is due, and reports whether proxies see these.
func (r *reconciliation) changePorts(ctx context.Context, ports []corev1.ServicePort, isDue bool) bool {
	if isDue && !r.isServiceRefused && !publication.PortsMatch(r.service, publication.Service(r.es, ports)) {
		service, err := r.applyService(ctx, r.es, r.service.DeepCopy(), ports, "")
		if r.refusals.add(err); err == nil {
			r.service = service
		}
	}
	return publication.AreSame(r.service.Spec.Ports, ports)
}

// reconcileSuspended leaves an object as it is, except for addresses that the egress policy denies: neither
// suspend nor a stored spec that is not valid is a way around the policy. setReason sets which of both it is.
func (r *Reconciler) reconcileSuspended(
	ctx context.Context, es *networkingv1.ExternalService, update *statusUpdate, setReason func(),
) (reconcile.Result, error) {
	state := r.stopChecks(es)
	current, err := r.currentSlices(ctx, es.Namespace, es.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	policy, unread := r.networkPolicyOf(ctx, es)
	if state.cacheStale(current, policy, r.Now()) {
		return reconcile.Result{RequeueAfter: controller.StaleRetry}, nil
	}
	var refused refusals
	refused.add(unread)
	current, unsynced := r.undoInvalid(ctx, es, current, state, &refused)
	suspension := failover.Suspend(endpoints.HeldIn(es, current, r.Policy, true), endpoints.RecordedIn(es, r.Policy))
	if suspension.IsUnsynced || unsynced {
		setReason()
		return reconcile.Result{RequeueAfter: failover.UnsyncedRetry}, r.writeStatus(ctx, es, update)
	}
	r.removeDenied(ctx, es, current, &suspension, state, &refused)
	r.removeDeniedDestinations(ctx, es, policy, state, &refused)
	if refused.stale || refused.terminating {
		return controller.ResultOf(controller.ErrStale)
	}
	if len(suspension.Denied) > 0 || update.hasReadyReason(networkingv1.ReasonPolicyDenied) {
		update.status.PublishedSpec = "" // not all of it
	}
	setReason()
	if !refused.any() || !es.Status.Fault.Lasts() {
		update.setFaultWhileSuspended(es, r.Now())
	}
	update.setDenied(&suspension)
	if len(refused.errs) > 0 {
		state.refused++
		update.setRefused(&refused)
		return reconcile.Result{RequeueAfter: maxRefusalRetry}, r.writeStatus(ctx, es, update)
	}
	state.refused = 0
	return reconcile.Result{}, r.writeStatus(ctx, es, update)
}
