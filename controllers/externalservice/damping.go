// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"math"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// changeRate is how often something has changed lately. It halves with each half-life.
type changeRate struct {
	level float64
	at    time.Time
}

// damping is how a turbulence is turned into a time to wait: none up to so many recent changes, then
// least, and twice as long with each further one, up to most.
type damping struct {
	halfLife           time.Duration
	threshold          float64
	minDelay, maxDelay time.Duration
}

var (
	// flapDamping holds the health of an address from its third fall within minutes on.
	flapDamping = damping{halfLife: 5 * time.Minute, threshold: 2.5, minDelay: 10 * time.Second, maxDelay: 3 * time.Minute}
	// writeDamping holds what is not urgent of the slices and the status of one object.
	writeDamping = damping{halfLife: time.Minute, threshold: 8, minDelay: 5 * time.Second, maxDelay: time.Minute}
)

// maxUnhealthyHold is how long an address that flaps, and for which no other is there, stays published while it
// fails, at most.
const maxUnhealthyHold = 30 * time.Second

func (d *damping) level(t *changeRate, now time.Time) float64 {
	if t.level == 0 || now.Before(t.at) {
		return t.level
	}
	return t.level * math.Exp2(-float64(now.Sub(t.at))/float64(d.halfLife))
}

// add takes in changes.
func (d *damping) add(t *changeRate, changes int, now time.Time) {
	t.level, t.at = d.level(t, now)+float64(changes), now
}

// delay is how long the next change waits.
func (d *damping) delay(t *changeRate, now time.Time) time.Duration {
	over := d.level(t, now) - d.threshold
	if over <= 0 {
		return 0
	}
	return time.Duration(min(float64(d.minDelay)*math.Exp2(over), float64(d.maxDelay)))
}

// calmAt is when there is no hold any more, provided that nothing changes until then.
func (d *damping) calmAt(t *changeRate, now time.Time) time.Time {
	level := d.level(t, now)
	if level <= d.threshold {
		return now
	}
	return now.Add(time.Duration(float64(d.halfLife)*math.Log2(level/d.threshold)) + time.Second)
}

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

// postponeUntil is until when the slices, and the status that tells of them, are left as they are. Every
// node reads every write of a slice, so that of an object whose slices change all the time the changes
// are gathered: other addresses of a name, and addresses that are healthy again. A change of the spec,
// another priority, and an address that must not take traffic any more wait for nothing. It is zero
// where there is nothing to wait for.
func (m *objectState) postponeUntil(es *networkingv1.ExternalService, service *corev1.Service, current []*discoveryv1.EndpointSlice, wanted []desiredSlice, f *observation, d *decision, now time.Time) time.Time {
	due := m.sliceWriteRate.at.Add(writeDamping.delay(&m.sliceWriteRate, now))
	if !now.Before(due) || es.Status.ObservedGeneration != es.Generation || !ptr.Equal(d.active, m.active) || d.panicking != m.panicking {
		return time.Time{}
	}
	if sameSlices(service, current, wanted) || mustWriteNow(current, f, d) {
		return time.Time{}
	}
	return due
}

func sameSlices(service *corev1.Service, current []*discoveryv1.EndpointSlice, wanted []desiredSlice) bool {
	if len(current) != len(wanted) {
		return false
	}
	for i := range wanted {
		if c := findSlice(current, wanted[i].name); c == nil || !sliceMatches(c, service, &wanted[i]) {
			return false
		}
	}
	return true
}

// mustWriteNow reports whether an address takes traffic that is to take none, or nothing takes any.
func mustWriteNow(current []*discoveryv1.EndpointSlice, f *observation, d *decision) bool {
	ready := make(map[netip.Addr]bool, len(d.published))
	for i := range f.endpoints {
		for j := range f.endpoints[i].addresses {
			if a := &f.endpoints[i].addresses[j]; a.deniedReason != "" {
				ready[a.ip] = false
			}
		}
	}
	for _, p := range d.published {
		ready[p.ip] = ready[p.ip] || p.ready
	}
	takes := false
	for _, c := range current {
		for i := range c.Endpoints {
			if !ptr.Deref(c.Endpoints[i].Conditions.Ready, true) {
				continue
			}
			takes = true
			ip, err := netip.ParseAddr(c.Endpoints[i].Addresses[0])
			if stays, known := ready[ip]; err != nil || known && !stays {
				return true
			}
		}
	}
	return !takes
}

// onlyTextDiffers reports whether two statuses say the same to a client that waits for a condition: they differ in
// texts, counts and what is told of single addresses. Of an object whose status changes all the time,
// such changes are gathered.
func onlyTextDiffers(a, b *networkingv1.ExternalServiceStatus) bool {
	if a.ObservedGeneration != b.ObservedGeneration || a.ClusterIP != b.ClusterIP || a.LastHandledFailback != b.LastHandledFailback ||
		!ptr.Equal(a.ActivePriority, b.ActivePriority) || !ptr.Equal(a.ServiceRef, b.ServiceRef) ||
		!apiequality.Semantic.DeepEqual(a.Fault, b.Fault) || len(a.Conditions) != len(b.Conditions) {
		return false
	}
	for i := range a.Conditions {
		is, was := &b.Conditions[i], meta.FindStatusCondition(a.Conditions, b.Conditions[i].Type)
		if was == nil || was.Status != is.Status || was.Reason != is.Reason {
			return false
		}
	}
	return true
}
