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

// Wanted returns the addresses to have in slices, ordered by ports and address. One that stays ready with the ports that it had
// is not there as not ready with others: of two slices that differ about an endpoint, a proxy believes either.
func (c *Choice) Wanted() []Published {
	if len(c.Outgoing) == 0 {
		return c.Published
	}
	all := slices.DeleteFunc(slices.Clone(c.Published), func(p Published) bool {
		return !p.IsReady && slices.ContainsFunc(c.Outgoing, func(o Published) bool { return o.IP == p.IP })
	})
	all = append(all, c.Outgoing...)
	slices.SortFunc(all, func(a, b Published) int { return a.compareAddress(b.Candidate) })
	return all
}

// keepReady has the choice keep what is ready in slices:
//
//   - An address that it publishes stays ready while it is Unknown.
//   - One that the spec has with other ports stays until these were checked for the first time.
//   - One that the spec lacks stays while a name was not looked up yet, or while an address that is published waits for
//     its first check.
//   - Where nothing else is ready, any of these stays while an address of any priority waits for its first check. So does
//     one that is drained, or of another priority.
//
// Each stays for as long as a first check may take, at most.
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
	awaitsLookup, noneReady := k.in.Observed.IsIncomplete, k.choice.ReadyCount() == 0
	if k.choice.IsPanicking || !awaitsLookup && !k.in.Observed.AwaitsAny() {
		return
	}
	published := make(map[endpoints.Key]bool, len(k.choice.Published))
	for _, p := range k.choice.Published {
		published[p.Key()] = true
	}
	inSpec, first := k.placed(), k.firstChecks()
	for i := range k.in.Held {
		h := &k.in.Held[i]
		health, isPlaced := inSpec[h.Key()]
		if !h.IsReady || h.Ports.Digest == "" || published[h.Key()] || !h.Verdict.Allowed || health == networkingv1.AddressUnhealthy {
			continue
		}
		_, hasIP := inSpec[endpoints.Key{IP: h.IP}]
		awaitsCheckUntil, hasSuccessor := first.ofIP[h.IP]
		switch {
		case noneReady:
			awaitsCheckUntil = first.ofAny
		case isPlaced, hasIP && !hasSuccessor:
			continue
		case !hasIP:
			awaitsCheckUntil = first.ofPublished
		}
		since, known := k.since[h.Key()]
		if !known {
			since = k.in.Now
		}
		switch until := since.Add(k.grace); {
		case awaitsLookup, k.in.Observed.IsSuspect && !awaitsCheckUntil.IsZero():
		case awaitsCheckUntil.IsZero(), !k.in.Now.Before(until):
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
		Candidate: &Candidate{IP: h.IP, Ports: h.Ports, Zone: h.Zone, Health: networkingv1.AddressUnknown}, IsReady: true, IsOutgoing: true,
	})
}

// firstChecks are until when first checks are awaited; zero where none is.
type firstChecks struct {
	// ofPublished is of the addresses that are published, ofIP the same by address, and ofAny of those of any priority.
	ofPublished, ofAny time.Time
	ofIP               map[netip.Addr]time.Time
}

func (k *keeper) firstChecks() firstChecks {
	f := firstChecks{ofIP: map[netip.Addr]time.Time{}}
	for _, p := range k.choice.Published {
		if due := k.firstCheckUntil(p.Health, p.since); !due.IsZero() {
			f.ofPublished, f.ofIP[p.IP] = later(f.ofPublished, due), later(f.ofIP[p.IP], due)
		}
	}
	for _, a := range endpoints.Active(k.in.Observed.Endpoints) {
		f.ofAny = later(f.ofAny, k.firstCheckUntil(a.Health.State, a.Changed))
	}
	return f
}

// firstCheckUntil returns until when an address waits for its first check, or zero.
func (k *keeper) firstCheckUntil(health networkingv1.AddressHealth, since time.Time) time.Time {
	due := since.Add(k.grace)
	if health != networkingv1.AddressUnknown || !k.in.Observed.IsSuspect && !k.in.Now.Before(due) {
		return time.Time{}
	}
	return due
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// placed returns the health of the addresses that the spec has now with their ports, also of those that are drained, and
// the addresses without ports.
func (k *keeper) placed() map[endpoints.Key]networkingv1.AddressHealth {
	all := map[endpoints.Key]networkingv1.AddressHealth{}
	for i := range k.in.Observed.Endpoints {
		for _, a := range k.in.Observed.Endpoints[i].Addresses {
			all[endpoints.Key{IP: a.IP}] = ""
			if before, ok := all[a.Key()]; !ok || healthRank(a.Health.State) > healthRank(before) {
				all[a.Key()] = a.Health.State
			}
		}
	}
	return all
}
