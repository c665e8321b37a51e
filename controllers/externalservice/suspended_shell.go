// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/events"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// reconcileSuspended leaves an object as it is, except for addresses that the egress policy denies: neither
// suspend nor a stored spec that is not valid is a way around the policy. setReason sets which of both it is.
func (r *Reconciler) reconcileSuspended(ctx context.Context, es *networkingv1.ExternalService, update *statusUpdate, setReason func()) (reconcile.Result, error) {
	state := r.stopChecks(es)
	current, err := r.currentSlices(ctx, es.Namespace, es.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if state.cacheStale(current, r.Now()) {
		return reconcile.Result{RequeueAfter: controller.StaleRetry}, nil
	}
	suspension := failover.Suspend(es, endpoints.HeldIn(es, current, r.Policy, true), endpoints.RecordedIn(es, r.Policy))
	if suspension.IsUnsynced {
		setReason()
		return reconcile.Result{RequeueAfter: failover.UnsyncedRetry}, r.writeStatus(ctx, es, update)
	}
	var refused refusals
	for _, err := range r.removeDenied(ctx, es, current, &suspension, state) {
		refused.add(err)
	}
	if refused.stale || refused.terminating {
		return controller.ResultOf(controller.ErrStale)
	}
	if len(suspension.Denied) > 0 || update.hasReadyReason(networkingv1.ReasonPolicyDenied) {
		update.status.PublishedSpec = "" // not all of it
	}
	setReason()
	update.setFaultWhileSuspended(es.Annotations[networkingv1.InjectFaultAnnotation], r.Now())
	update.setDenied(&suspension)
	if len(refused.errs) > 0 {
		update.setRefused(&refused)
		return reconcile.Result{RequeueAfter: maxRefusalRetry}, r.writeStatus(ctx, es, update)
	}
	return reconcile.Result{}, r.writeStatus(ctx, es, update)
}

// removeDenied writes what is left of the slices that had denied addresses, and returns the errors of that.
func (r *Reconciler) removeDenied(
	ctx context.Context, es *networkingv1.ExternalService, current []*discoveryv1.EndpointSlice, suspension *failover.Suspension, state *objectState,
) []error {
	wanted, changed := publication.Retained(current, suspension.Ready)
	if len(changed) == 0 {
		return nil
	}
	service := &corev1.Service{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(es), service); err != nil {
		return []error{client.IgnoreNotFound(err)} // the slices go with it
	}
	if !rules.BelongsTo(service, es) {
		return nil
	}
	writer := r.newSliceWriter(service, changed, suspension.Fitness, state)
	writer.withdraw(ctx, wanted)
	writer.extend(ctx, wanted)
	return writer.errs
}

// stopChecks stops lookups and checks of an object, and keeps its state: verdicts of the policy may change.
func (r *Reconciler) stopChecks(es *networkingv1.ExternalService) *objectState {
	key, now := client.ObjectKeyFromObject(es), r.Now()
	r.Resolution.Forget(key)
	r.Probes.Forget(key)
	r.metrics.drop(key)
	m, _ := r.states.get(key, es.UID, now)
	*m = objectState{uid: es.UID, failover: failover.State{FirstSeen: now}, sliceWrites: m.sliceWrites, statusWrite: m.statusWrite}
	return m
}

// setDenied sets what the policy denies.
func (u *statusUpdate) setDenied(s *failover.Suspension) {
	if len(s.Denied) == 0 {
		return
	}
	u.setStalled(networkingv1.ReasonPolicyDenied,
		events.Summarize(s.Denied)+": not published, although nothing else is changed now; take it out of the spec, or have the egress policy allow it")
	if counts := u.status.Addresses; counts != nil {
		counts.Published = s.ReadyCount
	}
}

// hasReadyReason reports whether Ready has a reason.
func (u *statusUpdate) hasReadyReason(reason string) bool {
	ready := meta.FindStatusCondition(u.status.Conditions, networkingv1.ConditionReady)
	return ready != nil && ready.Reason == reason
}
