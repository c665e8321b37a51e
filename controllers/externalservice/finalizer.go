// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// deletionRetry is how often the steps of a deletion are tried again that the API server refuses.
const deletionRetry = 10 * time.Second

// addFinalizer adds the finalizer, before anything is published. Admission has done so where it knows that the namespace
// is reconciled.
func (r *Reconciler) addFinalizer(ctx context.Context, es *networkingv1.ExternalService) error {
	if controllerutil.ContainsFinalizer(es, rules.UnpublishFinalizer) {
		return nil
	}
	return r.changeFinalizer(ctx, es, controllerutil.AddFinalizer)
}

// finalize unpublishes a deleted object and removes the finalizer.
func (r *Reconciler) finalize(ctx context.Context, es *networkingv1.ExternalService) (reconcile.Result, error) {
	r.forget(client.ObjectKeyFromObject(es))
	rules.Default(es)
	if !controllerutil.ContainsFinalizer(es, rules.UnpublishFinalizer) {
		return reconcile.Result{}, nil
	}
	if left, err := r.unpublish(ctx, es); err != nil {
		return r.reportRefusedDeletion(ctx, es, err)
	} else if left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	if err := r.changeFinalizer(ctx, es, controllerutil.RemoveFinalizer); client.IgnoreNotFound(err) != nil {
		return r.reportRefusedDeletion(ctx, es, err)
	}
	r.forgetStatus(client.ObjectKeyFromObject(es))
	return reconcile.Result{}, nil
}

// reportRefusedDeletion writes what keeps a deleted object from being unpublished, in the words of the API server.
func (r *Reconciler) reportRefusedDeletion(ctx context.Context, es *networkingv1.ExternalService, err error) (reconcile.Result, error) {
	var refused refusals
	if refused.add(err); len(refused.errs) == 0 {
		return reconcile.Result{}, err
	}
	update := newStatusUpdate(es, r.Now())
	update.setRefused(&refused)
	if err := r.writeStatus(ctx, es, update); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: deletionRetry}, nil
}

// unpublish drains and deletes the Service, or orphans it, and returns how long the finalizer must stay.
func (r *Reconciler) unpublish(ctx context.Context, es *networkingv1.ExternalService) (time.Duration, error) {
	service := &corev1.Service{}
	switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(es), service); {
	case apierrors.IsNotFound(err):
		return 0, nil // also where the namespace is deleted
	case err != nil:
		return 0, fmt.Errorf("read Service: %w", err)
	case !rules.BelongsTo(service, es) || service.DeletionTimestamp != nil:
		return 0, nil
	}
	// A user who deletes with --cascade=orphan wants everything to stay as it is, and no fault to stay.
	if *es.Spec.DeletionPolicy == networkingv1.DeletionOrphan || slices.Contains(es.Finalizers, metav1.FinalizerOrphanDependents) {
		return 0, r.orphanService(ctx, es, service)
	}
	if left, err := r.drain(ctx, es, service); err != nil || left > 0 {
		return left, err
	}
	err := r.Client.Delete(ctx, service, client.Preconditions{UID: &service.UID})
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("delete Service: %w", err)
	}
	return 0, nil
}

// drain makes the endpoints terminating, and returns how long they must stay so.
func (r *Reconciler) drain(ctx context.Context, es *networkingv1.ExternalService, service *corev1.Service) (time.Duration, error) {
	if r.DrainPeriod <= 0 {
		return 0, nil
	}
	current, err := r.currentSlices(ctx, service.Namespace, service.Name)
	if err != nil || len(current) == 0 {
		return 0, err
	}
	state := r.statuses.Get(es)
	switch wrote, err := r.drainSlices(ctx, service, current); {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return 0, nil
	case err != nil:
		return 0, err
	case wrote:
		state.drainBegan = r.Now()
	}
	// The deletion may have waited for a leader, and its time is in whole seconds: the drain begins when the
	// slices were written, unless an earlier process has done that.
	began := es.DeletionTimestamp.Time
	if state.drainBegan.After(began) {
		began = state.drainBegan
	}
	left := began.Add(r.DrainPeriod).Sub(r.Now())
	if left <= 0 {
		return 0, nil
	}
	return left, r.reportDraining(ctx, es)
}

// reportDraining writes that the object takes no traffic any more.
func (r *Reconciler) reportDraining(ctx context.Context, es *networkingv1.ExternalService) error {
	update := newStatusUpdate(es, r.Now())
	update.Set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonDraining,
		fmt.Sprintf("deleted: its endpoints are terminating for %s, then its Service is deleted", common.DurationOf(r.DrainPeriod)))
	if update.status.Addresses != nil {
		update.status.Addresses.Published = 0
	}
	return r.writeStatus(ctx, es, update)
}

// drainSlices makes all endpoints terminating: proxies and load balancers send no new connections there, and those
// that know terminating endpoints let established ones end. It returns whether any slice was written.
func (r *Reconciler) drainSlices(
	ctx context.Context, service *corev1.Service, current []*discoveryv1.EndpointSlice,
) (wrote bool, err error) {
	var errs []error
	for _, c := range current {
		if owner := metav1.GetControllerOf(c); owner == nil || owner.UID != service.UID || c.DeletionTimestamp != nil {
			continue
		}
		s := publication.Slice{Name: c.Name, Family: c.AddressType, Ports: c.Ports, Endpoints: slices.Clone(c.Endpoints)}
		for i := range s.Endpoints {
			s.Endpoints[i].Conditions = discoveryv1.EndpointConditions{
				Ready: ptr.To(false), Terminating: ptr.To(true),
				// As for a pod that ends: proxies that have no other endpoint go on sending to it.
				Serving: ptr.To(ptr.Deref(s.Endpoints[i].Conditions.Serving, true)),
			}
		}
		if s.Is(c, service) {
			continue
		}
		wanted := s.Configuration(service).WithResourceVersion(c.ResourceVersion)
		if err := r.apply(ctx, wanted); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("drain EndpointSlice %s: %w", c.Name, err))
			continue
		}
		wrote = true
	}
	return wrote, errors.Join(errs...)
}

// orphanService removes the mark of the owner from the Service, once nothing of it is temporary. Its EndpointSlices belong to
// it, and stay.
func (r *Reconciler) orphanService(ctx context.Context, es *networkingv1.ExternalService, service *corev1.Service) error {
	current, err := r.currentSlices(ctx, service.Namespace, service.Name)
	if err != nil {
		return err
	}
	var refused refusals
	w, unsynced := r.undo(ctx, es, service, current, r.states.Get(es), &refused)
	for _, name := range w.names() {
		if s := publication.Undrained(w.held[name]); s != nil {
			w.count(w.apply(ctx, s))
		}
	}
	switch {
	case unsynced, refused.stale:
		return controller.ErrStale
	case refused.any():
		return errors.Join(refused.errs...)
	}
	if es.Status.Fault.Lasts() {
		update := newStatusUpdate(es, r.Now())
		update.endFault(es, "the object is deleted, and its Service is orphaned")
		if err := r.writeStatus(ctx, es, update); err != nil {
			return err
		}
	}
	as := es.DeepCopy() // an edit of the type comes too late
	as.Spec.Service.ClusterIP = publication.ClusterIP(publication.IsHeadless(service))
	if err := r.apply(ctx, publication.Service(as, service.Spec.Ports).WithResourceVersion(service.ResourceVersion)); err != nil {
		return fmt.Errorf("disown Service: %w", err)
	}
	return nil
}

// undo publishes what would be published without the fault that lasts, if any, by the names of the ports that the Service
// has. unsynced means that the policy cannot decide about it yet.
func (r *Reconciler) undo(
	ctx context.Context, es *networkingv1.ExternalService, service *corev1.Service, current []*discoveryv1.EndpointSlice,
	state *objectState, refused *refusals,
) (w *sliceWriter, unsynced bool) {
	w = r.newSliceWriter(service, current, failover.Fitness{}, state, refused)
	if !es.Status.Fault.Lasts() {
		return w, false
	}
	all, unsynced := endpoints.Known(es, current, r.Policy)
	if unsynced {
		return w, true
	}
	endpoints.DropUnreachable(all, endpoints.FamiliesOf(service))
	decided := failover.WithoutFault(es, all, r.Now())
	if decided.Shown.ReadyCount() == 0 { // nothing is known to be better
		return w, false
	}
	w.fit = decided.Fitness(all, nil)
	ports := service.Spec.Ports
	w.extend(ctx, publication.Wanted(es, current, publication.Under(ports, es, ports, current, decided.Shown.Wanted())))
	return w, false
}

// undoInvalid ends what a fault does to an object whose spec is not valid any more, and returns the slices after that. Without
// its Service there is nothing to undo.
func (r *Reconciler) undoInvalid(
	ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, state *objectState, refused *refusals,
) (left []*discoveryv1.EndpointSlice, unsynced bool) {
	if !es.Status.Fault.Lasts() {
		return current, false
	}
	service := &corev1.Service{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(es), service); err != nil || !rules.BelongsTo(service, es) {
		refused.add(client.IgnoreNotFound(err))
		return current, false
	}
	w, unsynced := r.undo(ctx, es, service, current, state, refused)
	return w.current(), unsynced
}

// changeFinalizer writes nothing but the finalizers. The resource version guards the list, which a merge patch
// replaces as a whole.
func (r *Reconciler) changeFinalizer(ctx context.Context, es *networkingv1.ExternalService, change func(client.Object, string) bool) error {
	changed := es.DeepCopy()
	change(changed, rules.UnpublishFinalizer)
	if err := r.Client.Patch(ctx, changed, client.MergeFromWithOptions(es, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write finalizers: %w", err)
	}
	es.Finalizers, es.ResourceVersion = changed.Finalizers, changed.ResourceVersion
	return nil
}
