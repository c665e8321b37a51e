// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"time"

	"github.com/fairlead-dev/fairlead/controllers/internal/controller"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// target is an address of an endpoint, as health checks know it.
type target struct {
	endpoint string
	ip       netip.Addr
	srv      uint16
}

// flap is what is remembered of an address that has become unhealthy in this process.
type flap struct {
	// falls is how often the prober has seen it become unhealthy.
	falls  uint16
	recent turbulence
	// shown is the health that counts.
	shown probe.Health
}

// damp holds the health of addresses that flap, so that each turn of theirs is not a write of slices
// and status, and read by every node. The first falls count at once. After that:
//
//   - where an address is healthy that does not flap, one that flaps is out as soon as it fails, and
//     in again only once it has been healthy for its hold, which grows with each recent fall;
//   - where there is none, those that flap are the best that there is: one that is healthy counts at
//     once, and one that fails stays until it has failed for its hold, lasting at most.
//
// It returns when to look again. A new process has seen no fall yet.
func damp(all []site, m *memory, now time.Time) (again time.Time) {
	var next map[target]*flap
	steady := false
	active(all, func(s *site, a *address) {
		if a.health.Falls > 0 {
			at := target{s.Name, a.ip, a.srv}
			f := m.flaps[at].seen(&a.health, now)
			if next == nil {
				next = map[target]*flap{}
			}
			next[at] = f
			a.flaps = flapping.hold(&f.recent, now) > 0
			if a.flaps {
				again = controller.Earliest(again, flapping.calm(&f.recent, now))
			}
		}
		steady = steady || (a.health.State == networkingv1.AddressHealthy && !a.flaps)
	})
	m.flaps = next
	if len(next) == 0 {
		return again
	}
	active(all, func(s *site, a *address) {
		if f := next[target{s.Name, a.ip, a.srv}]; f != nil {
			again = controller.Earliest(again, f.show(a, steady, now))
		}
	})
	return again
}

// seen takes in what the prober has found. f may be nil.
func (f *flap) seen(found *probe.Health, now time.Time) *flap {
	if f == nil || found.Falls < f.falls {
		// It was healthy before it fell for the first time.
		f = &flap{shown: probe.Health{State: networkingv1.AddressHealthy}}
	}
	flapping.count(&f.recent, int(found.Falls-f.falls), now)
	f.falls = found.Falls
	return f
}

// show decides which health counts, and returns when to look again.
func (f *flap) show(a *address, steady bool, now time.Time) (again time.Time) {
	found, hold := a.health, flapping.hold(&f.recent, now)
	switch {
	case f.shown.Since.IsZero(), found.State == f.shown.State && !a.flaps:
		f.shown = found
	case found.State == f.shown.State: // its time and its reason stay: there is nothing to write
	case found.State == networkingv1.AddressHealthy && f.shown.State == networkingv1.AddressUnhealthy && steady:
		again = found.Since.Add(hold)
	case found.State == networkingv1.AddressUnhealthy && f.shown.State == networkingv1.AddressHealthy && !steady:
		again = found.Since.Add(min(hold, lasting))
	default:
		f.shown = found
	}
	if !again.IsZero() && !now.Before(again) {
		f.shown, again = found, time.Time{}
	}
	f.shown.LastProbe = found.LastProbe
	a.health = f.shown
	return again
}
