// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"net/netip"
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
)

// What is ready stays ready until a check of it fails, or until what replaces it was looked up and checked: an edit, or
// another answer of a nameserver, leaves no Service without an address that takes traffic.

// Wanted returns the addresses to have in slices, ordered by ports and address.
func (c *Choice) Wanted() []Published {
	if len(c.Outgoing) == 0 {
		return c.Published
	}
	all := slices.Concat(c.Published, c.Outgoing)
	slices.SortFunc(all, func(a, b Published) int { return a.compareAddress(b.Candidate) })
	return all
}

// keepReady has the choice keep what is ready in slices:
//
//   - An address that it publishes stays ready while it is Unknown.
//   - One that it does not publish stays while a name was not looked up yet, or while an address that it publishes
//     waits for its first check, as long as that may take. One that is drained, or of another priority, stays only
//     where nothing else is ready.
//
// What the policy denies and what is unhealthy does not stay.
func (s *State) keepReady(in *Input, c *Choice) {
	k := &keeper{in: in, choice: c, since: s.outgoingSince}
	if check := in.Object.Spec.HealthCheck; check != nil {
		k.grace = FirstProbeGrace(check)
	}
	k.keepUnknown()
	k.keepOutgoing()
	s.outgoingSince = k.kept
}

// keeper decides which addresses stay ready.
type keeper struct {
	in     *Input
	choice *Choice
	// grace is how long a first check may take.
	grace time.Duration
	// since is when addresses became outgoing, up to the last decision, and kept the same after this one.
	since, kept map[endpoints.Key]time.Time
}

// keepUnknown makes addresses ready that are Unknown and ready in slices.
func (k *keeper) keepUnknown() {
	for i := range k.choice.Published {
		if p := &k.choice.Published[i]; p.Health == networkingv1.AddressUnknown && !p.IsReady {
			p.IsReady = slices.ContainsFunc(k.in.Held, func(h endpoints.Held) bool { return h.IsReady && h.Key() == p.Key() })
		}
	}
}

// keepOutgoing sets the addresses that stay beside those that are published.
func (k *keeper) keepOutgoing() {
	awaitsLookup, awaitsCheckUntil := k.in.Observed.IsIncomplete, k.firstCheckUntil()
	if !awaitsLookup && awaitsCheckUntil.IsZero() || k.choice.IsPanicking {
		return
	}
	placed, noneReady := k.placed(), k.choice.ReadyCount() == 0
	published := make(map[endpoints.Key]bool, len(k.choice.Published))
	for _, p := range k.choice.Published {
		published[p.Key()] = true
	}
	for i := range k.in.Held {
		h := &k.in.Held[i]
		health, stillThere := placed[h.IP]
		if !h.IsReady || h.Ports.Digest == "" || published[h.Key()] || !h.Verdict.Allowed ||
			health == networkingv1.AddressUnhealthy || stillThere && !noneReady {
			continue
		}
		since, known := k.since[h.Key()]
		if !known {
			since = k.in.Now
		}
		switch until := since.Add(k.grace); {
		case awaitsLookup, k.in.Observed.IsSuspect:
		case !k.in.Now.Before(until):
			continue
		default:
			k.choice.requeueBy(controller.Earliest(until, awaitsCheckUntil))
		}
		k.keep(h, since)
	}
}

// keep has an address of a slice be ready that is outgoing since then.
func (k *keeper) keep(h *endpoints.Held, since time.Time) {
	if k.kept == nil {
		k.kept = map[endpoints.Key]time.Time{}
	}
	if _, twice := k.kept[h.Key()]; twice {
		return
	}
	k.kept[h.Key()] = since
	k.choice.Outgoing = append(k.choice.Outgoing, Published{
		Candidate: &Candidate{IP: h.IP, Ports: h.Ports, Zone: h.Zone, Health: networkingv1.AddressUnknown}, IsReady: true,
	})
}

// firstCheckUntil returns until when a published address waits for its first check, or zero.
func (k *keeper) firstCheckUntil() (until time.Time) {
	for _, p := range k.choice.Published {
		if p.Health != networkingv1.AddressUnknown {
			continue
		}
		if due := p.since.Add(k.grace); (k.in.Observed.IsSuspect || k.in.Now.Before(due)) && due.After(until) {
			until = due
		}
	}
	return until
}

// placed returns the health of the addresses that the spec has now, also of those that are drained.
func (k *keeper) placed() map[netip.Addr]networkingv1.AddressHealth {
	all := map[netip.Addr]networkingv1.AddressHealth{}
	for i := range k.in.Observed.Endpoints {
		for _, a := range k.in.Observed.Endpoints[i].Addresses {
			if before, ok := all[a.IP]; !ok || healthRank(a.Health.State) > healthRank(before) {
				all[a.IP] = a.Health.State
			}
		}
	}
	return all
}
