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

// addressKey is an address of an endpoint, as health checks know it.
type addressKey struct {
	endpoint string
	ip       netip.Addr
	srvPort  uint16
}

// flapState is what is remembered of an address that has become unhealthy in this process.
type flapState struct {
	// falls is how often the prober has seen it become unhealthy.
	falls uint16
	rate  changeRate
	// effective is the health that counts.
	effective probe.Health
}

// dampFlaps holds the health of addresses that flap, so that each turn of theirs is not a write of slices
// and status, and read by every node. The first falls count at once. After that:
//
//   - where an address is healthy that does not flap, one that flaps is out as soon as it fails, and
//     in again only once it has been healthy for its hold, which grows with each recent fall;
//   - where there is none, those that flap are the best that there is: one that is healthy counts at
//     once, and one that fails stays until it has failed for its hold, lasting at most.
//
// It returns when to look again. A new process has seen no fall yet.
func dampFlaps(all []resolvedEndpoint, m *objectState, now time.Time) (again time.Time) {
	var next map[addressKey]*flapState
	steady := false
	forEachActive(all, func(s *resolvedEndpoint, a *address) {
		if a.health.Falls > 0 {
			at := addressKey{s.Name, a.ip, a.srvPort}
			f := m.flaps[at].observe(&a.health, now)
			if next == nil {
				next = map[addressKey]*flapState{}
			}
			next[at] = f
			a.flapping = flapDamping.delay(&f.rate, now) > 0
			if a.flapping {
				again = controller.Earliest(again, flapDamping.calmAt(&f.rate, now))
			}
		}
		steady = steady || (a.health.State == networkingv1.AddressHealthy && !a.flapping)
	})
	m.flaps = next
	if len(next) == 0 {
		return again
	}
	forEachActive(all, func(s *resolvedEndpoint, a *address) {
		if f := next[addressKey{s.Name, a.ip, a.srvPort}]; f != nil {
			again = controller.Earliest(again, f.apply(a, steady, now))
		}
	})
	return again
}

// observe takes in what the prober has found. f may be nil.
func (f *flapState) observe(found *probe.Health, now time.Time) *flapState {
	if f == nil || found.Falls < f.falls {
		// It was healthy before it fell for the first time.
		f = &flapState{effective: probe.Health{State: networkingv1.AddressHealthy}}
	}
	flapDamping.add(&f.rate, int(found.Falls-f.falls), now)
	f.falls = found.Falls
	return f
}

// apply decides which health counts, and returns when to look again.
func (f *flapState) apply(a *address, steady bool, now time.Time) (again time.Time) {
	found, hold := a.health, flapDamping.delay(&f.rate, now)
	switch {
	case f.effective.Since.IsZero(), found.State == f.effective.State && !a.flapping:
		f.effective = found
	case found.State == f.effective.State: // its time and its reason stay: there is nothing to write
	case found.State == networkingv1.AddressHealthy && f.effective.State == networkingv1.AddressUnhealthy && steady:
		again = found.Since.Add(hold)
	case found.State == networkingv1.AddressUnhealthy && f.effective.State == networkingv1.AddressHealthy && !steady:
		again = found.Since.Add(min(hold, maxUnhealthyHold))
	default:
		f.effective = found
	}
	if !again.IsZero() && !now.Before(again) {
		f.effective, again = found, time.Time{}
	}
	f.effective.LastProbe = found.LastProbe
	a.health = f.effective
	return again
}
