// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"net/netip"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// Fitness is which addresses of the spec, and of slices, may take traffic. An address whose ports are not those of the
// spec, such as after an edit of the ports, may as far as the spec has it: what fails is its other ports. Its zero value
// knows none.
type Fitness struct {
	byKey map[endpoints.Key]bool
	byIP  map[netip.Addr]bool
	// wanted are the addresses that the decision wants to be ready.
	wanted map[netip.Addr]bool
}

// Fitness returns which addresses may take traffic by a decision. Denied or unhealthy addresses are unfit, unless the decision
// wants them to be ready nevertheless. A fault makes every address that is not ready unfit. Addresses of slices (held) that the
// policy denies are unfit even if the spec no longer has them. Addresses of the cluster stay until their replacements are
// published: their approval ended with the previous spec.
func (d *Decision) Fitness(all []endpoints.Endpoint, held []endpoints.Held) Fitness {
	f := Fitness{byKey: map[endpoints.Key]bool{}, byIP: map[netip.Addr]bool{}, wanted: map[netip.Addr]bool{}}
	for i := range all {
		f.addEndpoint(&all[i], d.Fault.IsInEffect)
	}
	for i := range held {
		if v := held[i].Verdict; !v.Allowed && v.Reason != egress.ReasonUnsynced && !v.Reason.InCluster() {
			f.byKey[held[i].Key()] = false
		}
	}
	for _, p := range d.Shown.Wanted() {
		f.byKey[p.Key()] = p.IsReady || f.byKey[p.Key()] && !d.Fault.IsInEffect
		f.wanted[p.IP] = f.wanted[p.IP] || p.IsReady
	}
	for key, fit := range f.byKey {
		f.byIP[key.IP] = f.byIP[key.IP] || fit
	}
	return f
}

// addEndpoint adds the addresses of an endpoint of the spec. A drained one counts only for what the policy denies.
func (f *Fitness) addEndpoint(e *endpoints.Endpoint, isFaultInEffect bool) {
	for i := range e.Addresses {
		a := &e.Addresses[i]
		isDenied := a.DeniedReason != ""
		if e.IsDrained && !isDenied {
			continue
		}
		f.byKey[a.Key()] = f.byKey[a.Key()] || !isDenied && a.Health.State != networkingv1.AddressUnhealthy
		f.byIP[a.IP] = f.byIP[a.IP] || !isDenied && !isFaultInEffect
	}
}

// Of returns whether an address may take traffic, and whether it is one of the spec. The zero address may not.
func (f *Fitness) Of(key endpoints.Key) (isFit, isKnown bool) {
	if !key.IP.IsValid() {
		return false, true
	}
	if isFit, isKnown = f.byKey[key]; !isKnown {
		isFit, isKnown = f.byIP[key.IP]
	}
	return isFit, isKnown
}

// IsWanted reports whether the decision wants an address to be ready, with whatever ports.
func (f *Fitness) IsWanted(ip netip.Addr) bool { return f.wanted[ip] }
