// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// fitness is which addresses of the spec may take traffic. Of an address whose ports are not those of the spec, such as
// after an edit of the ports, it is known by the address alone.
type fitness struct {
	byKey map[publishedKey]bool
	byIP  map[netip.Addr]bool
	// wanted are the addresses that the decision wants to be ready.
	wanted map[publishedKey]bool
}

// fitnessOf returns the fitness of the addresses of a decision. Those that the policy denies, or that are unhealthy, are
// unfit unless the decision wants them to be ready all the same; all that is not ready is, where a fault made it so.
func fitnessOf(o *observation, d *decision, faulty bool) fitness {
	f := fitness{byKey: map[publishedKey]bool{}, byIP: map[netip.Addr]bool{}, wanted: map[publishedKey]bool{}}
	for i := range o.endpoints {
		for j := range o.endpoints[i].addresses {
			if a := &o.endpoints[i].addresses[j]; a.deniedReason != "" || !o.endpoints[i].drained {
				key := publishedKey{a.ip, a.ports.digest}
				f.byKey[key] = f.byKey[key] || a.deniedReason == "" && a.health.State != networkingv1.AddressUnhealthy
			}
		}
	}
	for _, p := range d.wanted() {
		key := publishedKey{p.ip, p.ports.digest}
		f.byKey[key] = p.ready || f.byKey[key] && !faulty
		f.wanted[key] = p.ready
	}
	for key, fit := range f.byKey {
		f.byIP[key.ip] = f.byIP[key.ip] || fit
	}
	return f
}

// of returns whether an address may take traffic, and whether it is one of the spec.
func (f *fitness) of(key publishedKey) (fit, known bool) {
	if fit, known = f.byKey[key]; !known {
		fit, known = f.byIP[key.ip]
	}
	return fit, known
}

// isViolatedBy reports whether any address of a slice takes traffic that must not.
func (f *fitness) isViolatedBy(slice *discoveryv1.EndpointSlice) bool {
	digest := slicePortDigest(slice)
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
		key, ok := keyOf(&e, digest)
		fit, known := f.of(key)
		return isReady(&e) && (!ok || known && !fit)
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
	digest := slicePortDigest(slice)
	for _, e := range slice.Endpoints {
		key, ok := keyOf(&e, digest)
		fit, known := f.of(key)
		keep, ready := by(ok && fit, !ok || known)
		if !keep {
			continue
		}
		ready = ready && isReady(&e)
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
	digest := slicePortDigest(held)
	return slices.ContainsFunc(held.Endpoints, func(e discoveryv1.Endpoint) bool {
		key, ok := keyOf(&e, digest)
		return ok && f.wanted[key] && isReady(&e) && !slices.ContainsFunc(wanted.endpoints, func(w discoveryv1.Endpoint) bool {
			return w.Addresses[0] == e.Addresses[0]
		})
	})
}

func keyOf(e *discoveryv1.Endpoint, digest string) (publishedKey, bool) {
	ip, err := netip.ParseAddr(e.Addresses[0])
	return publishedKey{ip, digest}, err == nil
}

func isReady(e *discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) }
