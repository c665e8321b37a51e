// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// changeRate is how often something has changed lately. It decays with a half-life.
type changeRate struct {
	level float64
	at    time.Time
}

// damping is how a change rate delays the next change, as route flap damping does (RFC 2439): not at all up to
// the threshold, then by minDelay, and by twice as much with each further change, up to maxDelay.
type damping struct {
	halfLife           time.Duration
	threshold          float64
	minDelay, maxDelay time.Duration
}

var (
	// flapDamping delays changes of an address's health from its third fall within minutes on.
	flapDamping = damping{halfLife: 5 * time.Minute, threshold: 2.5, minDelay: 10 * time.Second, maxDelay: 3 * time.Minute}
	// writeDamping delays writes of slices and status of one object that are not urgent.
	writeDamping = damping{halfLife: time.Minute, threshold: 8, minDelay: 5 * time.Second, maxDelay: time.Minute}
)

const (
	// firstProbeHold limits how long an address that was never checked holds back slices and status.
	firstProbeHold = time.Second
	// maxHold limits how long slices and status of an object wait for first lookups and checks, however many there
	// are one after another.
	maxHold = 2 * time.Second
)

// maxUnhealthyHold limits how long a flapping address stays published while it fails, where no other is there.
const maxUnhealthyHold = 30 * time.Second

func (d *damping) level(rate *changeRate, now time.Time) float64 {
	if rate.level == 0 || now.Before(rate.at) {
		return rate.level
	}
	return rate.level * math.Exp2(-float64(now.Sub(rate.at))/float64(d.halfLife))
}

// add counts changes.
func (d *damping) add(rate *changeRate, changes int, now time.Time) {
	rate.level, rate.at = d.level(rate, now)+float64(changes), now
}

// delay returns how long the next change waits.
func (d *damping) delay(rate *changeRate, now time.Time) time.Duration {
	over := d.level(rate, now) - d.threshold
	if over <= 0 {
		return 0
	}
	return time.Duration(min(float64(d.minDelay)*math.Exp2(over), float64(d.maxDelay)))
}

// calmAt returns when there is no delay any more, if nothing changes until then.
func (d *damping) calmAt(rate *changeRate, now time.Time) time.Time {
	level := d.level(rate, now)
	if level <= d.threshold {
		return now
	}
	return now.Add(time.Duration(float64(d.halfLife)*math.Log2(level/d.threshold)) + time.Second)
}

// WriteRate is how often something was written lately.
type WriteRate struct{ rate changeRate }

// Count counts a write.
func (w *WriteRate) Count(now time.Time) { writeDamping.add(&w.rate, 1, now) }

// Due returns when the next write that is not urgent is due.
func (w *WriteRate) Due(now time.Time) time.Time {
	return w.rate.at.Add(writeDamping.delay(&w.rate, now))
}

// addressKey identifies what is checked. host is empty where the check does not use that of the endpoint.
type addressKey struct {
	ip   netip.Addr
	port uint16
	host string
}

func addressKeyOf(check *probe.Check, e *endpoints.Endpoint, a *endpoints.Address) addressKey {
	key := addressKey{ip: a.IP, port: a.Ports.ProbePort}
	if check.UsesHost() {
		key.host = e.DefaultHost()
	}
	return key
}

// flapState is the history of an address that has become unhealthy in this process.
type flapState struct {
	// falls is probe.Health.Falls.
	falls uint16
	rate  changeRate
	// effective is the damped health, and changed when it became that.
	effective probe.Health
	changed   time.Time
}

// Damp damps the health of addresses that flap: each change is a write of slices and status, and every
// node reads the slices. The first falls count at once. After that:
//
//   - Where an address is healthy that does not flap, one that flaps is unhealthy as soon as it fails, and
//     healthy again only once it has been so for its delay, which grows with each recent fall.
//   - Where there is none, one that flaps is healthy as soon as it succeeds, and unhealthy only once it has
//     failed for its delay, at most maxUnhealthyHold.
//
// It returns when time alone changes a health. A new process has seen no fall yet.
func (s *State) Damp(check *probe.Check, all []endpoints.Endpoint, now time.Time) (requeueAt time.Time) {
	var next map[addressKey]*flapState
	steady := false
	for e, a := range endpoints.Active(all) {
		if a.Health.Falls > 0 {
			at := addressKeyOf(check, e, a)
			f := s.flaps[at].observe(&a.Health, now)
			if next == nil {
				next = map[addressKey]*flapState{}
			}
			next[at] = f
			a.IsFlapping = flapDamping.delay(&f.rate, now) > 0
			if a.IsFlapping {
				requeueAt = controller.Earliest(requeueAt, flapDamping.calmAt(&f.rate, now))
			}
		}
		steady = steady || (a.Health.State == networkingv1.AddressHealthy && !a.IsFlapping)
	}
	s.flaps = next
	if len(next) == 0 {
		return requeueAt
	}
	for e, a := range endpoints.Active(all) {
		if f := next[addressKeyOf(check, e, a)]; f != nil {
			requeueAt = controller.Earliest(requeueAt, f.apply(a, steady, now))
		}
	}
	return requeueAt
}

// observe counts the falls that the prober has seen. f may be nil.
func (f *flapState) observe(found *probe.Health, now time.Time) *flapState {
	if f == nil || found.Falls < f.falls {
		// It was healthy before its first fall.
		f = &flapState{effective: probe.Health{State: networkingv1.AddressHealthy}}
	}
	flapDamping.add(&f.rate, int(found.Falls-f.falls), now)
	f.falls = found.Falls
	return f
}

// apply sets the damped health of an address, and returns when time alone changes it.
func (f *flapState) apply(a *endpoints.Address, steady bool, now time.Time) (requeueAt time.Time) {
	found, delay := a.Health, flapDamping.delay(&f.rate, now)
	switch {
	case f.effective.Since.IsZero(), found.State == f.effective.State && !a.IsFlapping:
		f.effective, f.changed = found, a.Changed
	case found.State == f.effective.State: // time and reason stay: there is nothing to write
	case found.State == networkingv1.AddressHealthy && f.effective.State == networkingv1.AddressUnhealthy && steady:
		requeueAt = a.Changed.Add(delay)
	case found.State == networkingv1.AddressUnhealthy && f.effective.State == networkingv1.AddressHealthy && !steady:
		requeueAt = a.Changed.Add(min(delay, maxUnhealthyHold))
	default:
		f.effective, f.changed = found, a.Changed
	}
	if !requeueAt.IsZero() && !now.Before(requeueAt) {
		f.effective, f.changed, requeueAt = found, a.Changed, time.Time{}
	}
	f.effective.LastProbe = found.LastProbe
	a.Health, a.Changed = f.effective, f.changed
	return requeueAt
}

// PostponeUntil returns until when slices and status are not written, or zero. Every node reads every write of a slice:
// where slices change all the time, other addresses of a name and addresses that are healthy again are written together.
// A change of the spec, a fault, another priority, and an address that must not take traffic any more are written at
// once.
func (s *State) PostponeUntil(in *Input, d *Decision) time.Time {
	es, shown, due := in.Object, &d.Shown, s.SliceWrites.Due(in.Now)
	if !in.Now.Before(due) || es.Status.ObservedGeneration != es.Generation ||
		!ptr.Equal(shown.Active, s.Active) || shown.IsPanicking != s.isPanicking ||
		d.Fault.IsInEffect || es.Status.Fault.Lasts() || d.Fault.Status != es.Status.Fault {
		return time.Time{}
	}
	if takes, wrongly := traffic(in, shown); wrongly || !takes {
		return time.Time{}
	}
	return controller.Earliest(due, d.RequeueAt)
}

// awaitFirstProbes returns until when slices and status wait for the first checks of addresses that are new, or
// zero: an object that is new, or whose name resolves to other addresses, is then written once. Another priority, and
// an address that must not take traffic any more, do not wait.
func (s *State) awaitFirstProbes(in *Input, c *Choice) (due time.Time) {
	if in.Observed.IsSuspect || c.IsPanicking || s.Active != nil && !ptr.Equal(c.Active, s.Active) {
		return time.Time{}
	}
	for _, a := range endpoints.Active(in.Observed.Endpoints) {
		if until := a.Changed.Add(firstProbeHold); a.Health.State == networkingv1.AddressUnknown && until.After(due) {
			due = until
		}
	}
	if !in.Now.Before(due) {
		return time.Time{}
	}
	if _, wrongly := traffic(in, c); wrongly {
		return time.Time{}
	}
	return controller.Earliest(due, s.holdEnd(in.Now))
}

// holdEnd returns until when slices and status may wait, which they do from now on.
func (s *State) holdEnd(now time.Time) time.Time {
	if s.heldSince.IsZero() {
		s.heldSince = now
	}
	return s.heldSince.Add(maxHold)
}

// traffic reports whether any address takes traffic by the slices, and whether one does that must not. What was never
// checked may.
func traffic(in *Input, c *Choice) (takes, wrongly bool) {
	stays, denied := make(map[endpoints.Key]bool, len(c.Published)), map[netip.Addr]bool{}
	for i := range in.Observed.Endpoints {
		for _, a := range in.Observed.Endpoints[i].Addresses {
			if a.DeniedReason != "" {
				stays[a.Key()], denied[a.IP] = false, true
			}
		}
	}
	for _, p := range c.Wanted() {
		stays[p.Key()] = stays[p.Key()] || p.IsReady || p.Health == networkingv1.AddressUnknown
	}
	for key, isReady := range endpoints.PublishedIn(slices.Values(in.Slices)) {
		may, isWanted := stays[key]
		mustNot := isWanted && !may || !isWanted && denied[key.IP] || !key.IP.IsValid()
		takes, wrongly = takes || isReady, wrongly || isReady && mustNot
	}
	return takes, wrongly
}
