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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// reconcileSuspended leaves an object as it is, except for addresses that the egress policy denies: suspend stops
// what is added, and is no way around the policy. Nor is a stored spec that breaks a rule; tell records
// which of both it is.
func (r *Reconciler) reconcileSuspended(ctx context.Context, es *networkingv1.ExternalService, report *statusUpdate, tell func()) (reconcile.Result, error) {
	m := r.stopChecks(es)
	current, err := r.currentSlices(ctx, es.Namespace, es.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if m.cacheStale(current, r.Now()) {
		return reconcile.Result{RequeueAfter: controller.StaleRetry}, nil
	}
	c := &deniedFilter{es: es, policy: r.Policy, approved: egress.Approved(es), restoreHealthy: es.Status.Fault.Lasts() && es.Status.Fault.Type == networkingv1.FaultBlackHole}
	wanted, censored := c.slices(current)
	c.checkRecorded()
	if c.unsynced {
		tell()
		return reconcile.Result{RequeueAfter: unsyncedRetry}, r.writeStatus(ctx, es, report)
	}
	if err := r.removeDenied(ctx, es, censored, wanted, m); err != nil {
		return reconcile.Result{}, err
	}
	if len(c.refused) > 0 || report.hasReadyReason(networkingv1.ReasonPolicyDenied) {
		report.status.PublishedSpec = "" // not all of it
	}
	tell()
	report.setFaultWhileSuspended(es.Annotations[networkingv1.InjectFaultAnnotation], r.Now())
	report.setDenied(c)
	return reconcile.Result{}, r.writeStatus(ctx, es, report)
}

// removeDenied writes what is left of the slices that held something denied.
func (r *Reconciler) removeDenied(ctx context.Context, es *networkingv1.ExternalService, censored []*discoveryv1.EndpointSlice, wanted []desiredSlice, m *objectState) error {
	if len(censored) == 0 {
		return nil
	}
	service := &corev1.Service{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(es), service); err != nil {
		return client.IgnoreNotFound(err) // the slices go with it
	}
	if !metav1.IsControlledBy(service, es) {
		return nil
	}
	_, err := r.publishSlices(ctx, service, censored, wanted, m)
	return err
}

// stopChecks ends all that goes on for an object, and remembers that there is one: what the policy says of
// it may change.
func (r *Reconciler) stopChecks(es *networkingv1.ExternalService) *objectState {
	key, now := client.ObjectKeyFromObject(es), r.Now()
	r.Resolution.Forget(key)
	r.Probes.Forget(key)
	r.metrics.drop(key)
	m, _ := r.states.get(key, es.UID, now)
	*m = objectState{uid: es.UID, firstSeen: now, sliceWrites: m.sliceWrites, statusWrite: m.statusWrite}
	return m
}

// deniedFilter finds what of a suspended object the egress policy denies.
type deniedFilter struct {
	es       *networkingv1.ExternalService
	policy   Policy
	approved bool
	// refused are sentences about addresses, each once.
	refused  []string
	unsynced bool
	// restoreHealthy says that a fault has taken addresses out: those that the status has as healthy are put
	// back in.
	restoreHealthy bool
	ready          int32 // addresses that are left and ready
}

// allows judges an address with its ports. Only what is in the spec can be approved.
func (c *deniedFilter) allows(ip netip.Addr, ports []uint16) bool {
	static := slices.ContainsFunc(egress.StaticAddresses(&c.es.Spec), func(s egress.Static) bool { return s.IP == ip })
	verdict := c.policy.CheckPorts(egress.Query{Namespace: c.es.Namespace, IP: ip, Authorized: c.approved && static}, ports)
	switch {
	case verdict.Allowed:
		return true
	case verdict.Reason == egress.ReasonUnsynced:
		c.unsynced = true
	default:
		if text := fmt.Sprintf("%s %s (%s)", ip, verdict.Detail, verdict.Reason); !slices.Contains(c.refused, text) {
			c.refused = append(c.refused, text)
		}
	}
	return false
}

// slices returns the slices that hold what is denied, and what is left of them.
func (c *deniedFilter) slices(current []*discoveryv1.EndpointSlice) (wanted []desiredSlice, censored []*discoveryv1.EndpointSlice) {
	for _, held := range current {
		left := desiredSlice{name: held.Name, family: held.AddressType, ports: held.Ports}
		ports, restored := numbersOf(held), false
		for _, e := range held.Endpoints {
			ip, err := netip.ParseAddr(e.Addresses[0])
			if err != nil || !c.allows(ip, ports) {
				continue
			}
			ready := ptr.Deref(e.Conditions.Ready, true)
			if !ready && c.restoreHealthy && c.wasHealthy(ip) {
				ready, restored = true, true
				e.Conditions.Serving = nil
			}
			if ready {
				c.ready++
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
		censored = append(censored, held)
		if len(left.endpoints) > 0 {
			wanted = append(wanted, left)
		}
	}
	return wanted, censored
}

// wasHealthy says whether the status has an address as healthy.
func (c *deniedFilter) wasHealthy(ip netip.Addr) bool {
	return slices.ContainsFunc(c.es.Status.Endpoints, func(e networkingv1.EndpointStatus) bool {
		return slices.ContainsFunc(e.Addresses, func(a networkingv1.AddressStatus) bool {
			return a.IP == ip.String() && a.Health == networkingv1.AddressHealthy
		})
	})
}

func numbersOf(held *discoveryv1.EndpointSlice) []uint16 {
	var numbers []uint16
	for _, p := range held.Ports {
		if p.Port != nil {
			numbers = append(numbers, uint16(*p.Port))
		}
	}
	return numbers
}

// checkRecorded judges what the spec and the status name, so that what was taken out is told for as long
// as it is denied.
func (c *deniedFilter) checkRecorded() {
	for _, s := range egress.StaticAddresses(&c.es.Spec) {
		if s.IP.IsValid() {
			c.allows(s.IP, s.Ports)
		}
	}
	for i := range c.es.Status.Endpoints {
		for _, a := range c.es.Status.Endpoints[i].Addresses {
			numbers := portSetOf(&c.es.Spec, nil, uint16(a.Port)).numbers
			if ip, err := netip.ParseAddr(a.IP); err == nil {
				c.allows(ip, numbers)
			}
		}
	}
}

// setDenied records what the policy denies of an object that is left as it is.
func (r *statusUpdate) setDenied(c *deniedFilter) {
	if len(c.refused) == 0 {
		return
	}
	r.setStalled(networkingv1.ReasonPolicyDenied,
		some(c.refused)+": not published, although nothing else is changed now; take it out of the spec, or have the egress policy allow it")
	if counts := r.status.Addresses; counts != nil {
		counts.Published = c.ready
	}
}

// hasReadyReason says whether Ready has a reason.
func (r *statusUpdate) hasReadyReason(reason string) bool {
	ready := meta.FindStatusCondition(r.status.Conditions, networkingv1.ConditionReady)
	return ready != nil && ready.Reason == reason
}
