// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/egress"
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
	filter := &deniedFilter{
		es: es, policy: r.Policy, approved: egress.Approved(es), fit: fitness{byKey: map[endpoints.Key]bool{}},
		restoreHealthy: es.Status.Fault.Lasts() && es.Status.Fault.Type == networkingv1.FaultBlackHole,
	}
	wanted, filtered := filter.slices(current)
	filter.checkRecorded()
	if filter.unsynced {
		setReason()
		return reconcile.Result{RequeueAfter: unsyncedRetry}, r.writeStatus(ctx, es, update)
	}
	var refused refusals
	for _, err := range r.removeDenied(ctx, es, filtered, wanted, filter.fit, state) {
		refused.add(err)
	}
	if refused.stale || refused.terminating {
		return controller.ResultOf(controller.ErrStale)
	}
	if len(filter.refused) > 0 || update.hasReadyReason(networkingv1.ReasonPolicyDenied) {
		update.status.PublishedSpec = "" // not all of it
	}
	setReason()
	update.setFaultWhileSuspended(es.Annotations[networkingv1.InjectFaultAnnotation], r.Now())
	update.setDenied(filter)
	if len(refused.errs) > 0 {
		update.setRefused(&refused)
		return reconcile.Result{RequeueAfter: maxRefusalRetry}, r.writeStatus(ctx, es, update)
	}
	return reconcile.Result{}, r.writeStatus(ctx, es, update)
}

// removeDenied writes what is left of the slices that had denied addresses, and returns the errors of that.
func (r *Reconciler) removeDenied(
	ctx context.Context, es *networkingv1.ExternalService, filtered []*discoveryv1.EndpointSlice, wanted []desiredSlice, fit fitness, state *objectState,
) []error {
	if len(filtered) == 0 {
		return nil
	}
	service := &corev1.Service{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(es), service); err != nil {
		return []error{client.IgnoreNotFound(err)} // the slices go with it
	}
	if !rules.BelongsTo(service, es) {
		return nil
	}
	writer := r.newSliceWriter(service, filtered, fit, state)
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
	*m = objectState{uid: es.UID, firstSeen: now, sliceWrites: m.sliceWrites, statusWrite: m.statusWrite}
	return m
}

// deniedFilter removes from a suspended object what the egress policy denies.
type deniedFilter struct {
	es       *networkingv1.ExternalService
	policy   endpoints.Policy
	approved bool
	// refused are sentences about addresses, each once.
	refused  []string
	unsynced bool
	// fit has the denied addresses of slices.
	fit fitness
	// restoreHealthy means that a fault has made addresses not ready: those that are healthy in the status are
	// made ready again.
	restoreHealthy bool
	ready          int32 // addresses that are left and ready
}

// allows reports whether the policy allows an address with its ports. Only static ones can be approved.
func (filter *deniedFilter) allows(ip netip.Addr, ports []uint16) bool {
	static := slices.ContainsFunc(egress.StaticAddresses(&filter.es.Spec), func(s egress.Static) bool { return s.IP == ip })
	verdict := filter.policy.CheckPorts(egress.Query{Namespace: filter.es.Namespace, IP: ip, Authorized: filter.approved && static, Held: true}, ports)
	switch {
	case verdict.Allowed:
		return true
	case verdict.Reason == egress.ReasonUnsynced:
		filter.unsynced = true
	default:
		if text := fmt.Sprintf("%s %s (%s)", ip, verdict.Detail, verdict.Reason); !slices.Contains(filter.refused, text) {
			filter.refused = append(filter.refused, text)
		}
	}
	return false
}

// slices returns the slices with denied addresses (filtered), and what is left of these (wanted).
func (filter *deniedFilter) slices(current []*discoveryv1.EndpointSlice) (wanted []desiredSlice, filtered []*discoveryv1.EndpointSlice) {
	for _, held := range current {
		left := desiredSlice{name: held.Name, family: held.AddressType, ports: held.Ports}
		ports, digest, restored := endpoints.NumbersOf(held), endpoints.DigestOf(held), false
		for _, e := range held.Endpoints {
			key, ok := endpoints.KeyOf(&e, digest)
			if !ok || !filter.allows(key.IP, ports) {
				filter.fit.byKey[key] = false
				continue
			}
			ready := ptr.Deref(e.Conditions.Ready, true)
			if !ready && filter.restoreHealthy && filter.wasHealthy(key.IP) {
				ready, restored = true, true
				e.Conditions.Serving = nil
			}
			if ready {
				filter.ready++
			}
			e.Conditions = discoveryv1.EndpointConditions{
				Ready: &ready, Serving: ptr.To(ptr.Deref(e.Conditions.Serving, ready)),
				Terminating: ptr.To(ptr.Deref(e.Conditions.Terminating, false)),
			}
			left.endpoints = append(left.endpoints, e)
		}
		if len(left.endpoints) == len(held.Endpoints) && !restored {
			continue
		}
		filtered = append(filtered, held)
		if len(left.endpoints) > 0 {
			wanted = append(wanted, left)
		}
	}
	return wanted, filtered
}

// wasHealthy reports whether an address is healthy in the status.
func (filter *deniedFilter) wasHealthy(ip netip.Addr) bool {
	return slices.ContainsFunc(filter.es.Status.Endpoints, func(e networkingv1.EndpointStatus) bool {
		return slices.ContainsFunc(e.Addresses, func(a networkingv1.AddressStatus) bool {
			return a.IP == ip.String() && a.Health == networkingv1.AddressHealthy
		})
	})
}

// checkRecorded checks the addresses of spec and status, so that one which was removed is reported for as long
// as it is denied.
func (filter *deniedFilter) checkRecorded() {
	for _, s := range egress.StaticAddresses(&filter.es.Spec) {
		if s.IP.IsValid() {
			filter.allows(s.IP, s.Ports)
		}
	}
	for i := range filter.es.Status.Endpoints {
		for _, a := range filter.es.Status.Endpoints[i].Addresses {
			numbers := endpoints.PortSetOf(&filter.es.Spec, nil, uint16(a.Port)).Numbers
			if ip, err := netip.ParseAddr(a.IP); err == nil {
				filter.allows(ip, numbers)
			}
		}
	}
}

// setDenied sets what the policy denies.
func (u *statusUpdate) setDenied(filter *deniedFilter) {
	if len(filter.refused) == 0 {
		return
	}
	u.setStalled(networkingv1.ReasonPolicyDenied,
		events.Summarize(filter.refused)+": not published, although nothing else is changed now; take it out of the spec, or have the egress policy allow it")
	if counts := u.status.Addresses; counts != nil {
		counts.Published = filter.ready
	}
}

// hasReadyReason reports whether Ready has a reason.
func (u *statusUpdate) hasReadyReason(reason string) bool {
	ready := meta.FindStatusCondition(u.status.Conditions, networkingv1.ConditionReady)
	return ready != nil && ready.Reason == reason
}
