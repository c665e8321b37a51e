// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
)

// fitness is which addresses of the spec may take traffic. Of an address whose ports are not those of the spec, such as
// after an edit of the ports, it is known by the address alone.
type fitness struct {
	byKey map[endpoints.Key]bool
	byIP  map[netip.Addr]bool
	// wanted are the addresses that the decision wants to be ready.
	wanted map[endpoints.Key]bool
}

// fitnessOf returns the fitness of the addresses of a decision. Those that the policy denies, or that are unhealthy, are
// unfit unless the decision wants them to be ready all the same; all that is not ready is, where a fault made it so.
func fitnessOf(o *observation, d *decision, faulty bool) fitness {
	f := fitness{byKey: map[endpoints.Key]bool{}, byIP: map[netip.Addr]bool{}, wanted: map[endpoints.Key]bool{}}
	for i := range o.endpoints {
		for j := range o.endpoints[i].Addresses {
			if a := &o.endpoints[i].Addresses[j]; a.DeniedReason != "" || !o.endpoints[i].IsDrained {
				key := endpoints.Key{IP: a.IP, Ports: a.Ports.Digest}
				f.byKey[key] = f.byKey[key] || a.DeniedReason == "" && a.Health.State != networkingv1.AddressUnhealthy
			}
		}
	}
	for _, p := range d.wanted() {
		key := endpoints.Key{IP: p.ip, Ports: p.ports.Digest}
		f.byKey[key] = p.ready || f.byKey[key] && !faulty
		f.wanted[key] = p.ready
	}
	for key, fit := range f.byKey {
		f.byIP[key.IP] = f.byIP[key.IP] || fit
	}
	return f
}

// of returns whether an address may take traffic, and whether it is one of the spec.
func (f *fitness) of(key endpoints.Key) (fit, known bool) {
	if fit, known = f.byKey[key]; !known {
		fit, known = f.byIP[key.IP]
	}
	return fit, known
}

// isViolatedBy reports whether any address of a slice takes traffic that must not.
func (f *fitness) isViolatedBy(slice *discoveryv1.EndpointSlice) bool {
	digest := endpoints.DigestOf(slice)
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
		key, ok := endpoints.KeyOf(&e, digest)
		fit, known := f.of(key)
		return endpoints.IsReady(&e) && (!ok || known && !fit)
	})
}

// without returns a slice with its unfit addresses not ready.
func (f *fitness) without(slice *discoveryv1.EndpointSlice) *desiredSlice {
	return f.filter(slice, func(fit, known bool) (keep, ready bool) { return true, fit || !known })
}

// only returns a slice with those addresses alone that are fit.
func (f *fitness) only(slice *discoveryv1.EndpointSlice) *desiredSlice {
	return f.filter(slice, func(fit, _ bool) (keep, ready bool) { return fit, true })
}

func (f *fitness) filter(slice *discoveryv1.EndpointSlice, by func(fit, known bool) (keep, ready bool)) *desiredSlice {
	left := &desiredSlice{name: slice.Name, family: slice.AddressType, ports: slice.Ports}
	digest := endpoints.DigestOf(slice)
	for _, e := range slice.Endpoints {
		key, ok := endpoints.KeyOf(&e, digest)
		fit, known := f.of(key)
		keep, ready := by(ok && fit, !ok || known)
		if !keep {
			continue
		}
		ready = ready && endpoints.IsReady(&e)
		e.Conditions = discoveryv1.EndpointConditions{
			Ready: &ready, Serving: ptr.To(ready && ptr.Deref(e.Conditions.Serving, true)),
			Terminating: ptr.To(ptr.Deref(e.Conditions.Terminating, false)),
		}
		left.endpoints = append(left.endpoints, e)
	}
	return left
}

// movesAway reports whether an address that is wanted to be ready leaves a slice for another one: it is written there
// first.
func (f *fitness) movesAway(held *discoveryv1.EndpointSlice, wanted *desiredSlice) bool {
	digest := endpoints.DigestOf(held)
	return slices.ContainsFunc(held.Endpoints, func(e discoveryv1.Endpoint) bool {
		key, ok := endpoints.KeyOf(&e, digest)
		return ok && f.wanted[key] && endpoints.IsReady(&e) && !slices.ContainsFunc(wanted.endpoints, func(w discoveryv1.Endpoint) bool {
			return w.Addresses[0] == e.Addresses[0]
		})
	})
}
