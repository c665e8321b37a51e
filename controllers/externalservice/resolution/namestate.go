// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// nameState is what is known of one name. It has no clock and sends nothing: answers go in by apply,
// and the state comes out.
type nameState struct {
	settings

	ipv4, ipv6 family
	lookedUpAt time.Time
	// failures is how many lookups in a row failed, in one family at least.
	failures int
	state    State
}

// newNameState makes the record of a name that was not looked up yet.
func newNameState(n Name) *nameState {
	r := &nameState{settings: n.settings(), state: State{Endpoint: n.Endpoint}}
	var ipv4, ipv6 []dns.Address
	for _, address := range n.Seed {
		if address.IP.Is4() {
			ipv4 = append(ipv4, address)
		} else {
			ipv6 = append(ipv6, address)
		}
	}
	r.ipv4.seed(ipv4, n.SeedTime)
	r.ipv6.seed(ipv6, n.SeedTime)
	if len(n.Seed) > 0 {
		r.state.ResolvedTime = n.SeedTime
	}
	r.state.Addresses = r.addresses()
	return r
}

// apply takes in an answer. at, from 0 to 1, places the next lookup within its jitter.
func (r *nameState) apply(a dns.Answer, now time.Time, at float64) {
	r.lookedUpAt, r.state.LookedUp = now, true
	resolved := a.Outcome() == dns.Resolved
	if resolved {
		a.IPv4, a.IPv6 = r.ipv4.correctNoName(a.IPv4), r.ipv6.correctNoName(a.IPv6)
	}
	r.state.Denied = a.Denied
	r.ipv4.lastOutcome, r.ipv6.lastOutcome = a.IPv4.Outcome, a.IPv6.Outcome
	interval := r.interval(a)
	if resolved {
		r.state.ResolvedTime = now
		r.ipv4.apply(a.IPv4, r.settings, interval, now)
		r.ipv6.apply(a.IPv6, r.settings, interval, now)
	}
	if resolved && !failed(a.IPv4) && !failed(a.IPv6) {
		r.failures = 0
	} else {
		r.failures++
	}
	r.updateState(now)
	wait := r.wait(a, interval)
	r.state.NextTime = now.Add(r.jitter(wait, at))
	r.capAtExpiry(now)
}

// apply takes in the part of a family of a name that resolves.
func (f *family) apply(p dns.FamilyAnswer, s settings, interval time.Duration, now time.Time) {
	switch p.Outcome {
	case dns.Resolved:
		f.applyAddresses(p, s, interval, now)
	case dns.NXDomain:
		f.applyNoRecords()
	case dns.ServFail, dns.Timeout, dns.Denied:
	}
}

// correctNoName is the part of a family of a name that resolves in the other one. Some load balancers say
// of such a name that it does not exist where they mean that they have no answer: where there were
// addresses, that is a failure.
func (f *family) correctNoName(p dns.FamilyAnswer) dns.FamilyAnswer {
	if p.NoName && f.count() > 0 {
		p.Outcome = dns.ServFail
	}
	return p
}

// failed says whether a part is neither addresses nor word that there are none.
func failed(p dns.FamilyAnswer) bool { return p.Outcome != dns.Resolved && p.Outcome != dns.NXDomain }

// interval is the time between lookups that an answer asks for.
func (r *nameState) interval(a dns.Answer) time.Duration {
	ttl := time.Duration(-1)
	for _, p := range []dns.FamilyAnswer{a.IPv4, a.IPv6} {
		if p.Outcome == dns.Resolved && (ttl < 0 || p.TTL < ttl) {
			ttl = p.TTL
		}
	}
	return r.clamp(ttl)
}

// wait is the time until the next lookup, before jitter.
func (r *nameState) wait(a dns.Answer, interval time.Duration) time.Duration {
	switch {
	case a.Outcome() != dns.Resolved:
		wait := r.retry(r.failures)
		if a.Outcome() == dns.NXDomain {
			wait = max(wait, min(a.IPv4.TTL, a.IPv6.TTL, r.maxRetry()))
		}
		return wait
	case r.ipv4.awaitsConfirmation() || r.ipv6.awaitsConfirmation():
		return r.minInterval
	case r.failures > 0:
		return min(interval, max(r.retry(r.failures), r.minInterval))
	default:
		return interval
	}
}

// awaitsConfirmation says whether addresses count that there were no records of, until that is said again.
func (f *family) awaitsConfirmation() bool {
	return f.lastOutcome == dns.NXDomain && f.negatives > 0 && f.count() > 0
}

// updateState says what the last answer means by now.
func (r *nameState) updateState(now time.Time) {
	whole := dns.Answer{IPv4: dns.FamilyAnswer{Outcome: r.ipv4.lastOutcome}, IPv6: dns.FamilyAnswer{Outcome: r.ipv6.lastOutcome}}.Outcome()
	r.state.ExpiresAt, r.state.Failed, r.state.Kept = time.Time{}, "", 0
	kept := dns.Outcome("")
	for i, f := range []*family{&r.ipv4, &r.ipv6} {
		if !f.isKept() || (whole == dns.Resolved && f.lastOutcome == dns.NXDomain) {
			continue
		}
		if r.removeExpired {
			expires := f.lastResolved.Add(r.keepFor)
			f.expire(expires, now)
			if f.count() == 0 {
				continue
			}
			if r.state.ExpiresAt.IsZero() || expires.Before(r.state.ExpiresAt) {
				r.state.ExpiresAt = expires
			}
		}
		kept = f.lastOutcome
		r.state.Kept += f.count()
		if whole == dns.Resolved {
			r.state.Failed = []string{"A", "AAAA"}[i]
		}
	}
	r.state.Addresses = r.addresses()
	r.state.Surplus = r.ipv4.surplus + r.ipv6.surplus + max(0, r.ipv4.count()+r.ipv6.count()-maxAddresses)
	switch {
	case whole == dns.Denied || (kept == "" && whole != dns.Resolved):
		r.state.Reason, r.state.Cause = string(whole), string(whole)
	case kept == "":
		r.state.Reason, r.state.Cause = networkingv1.ReasonResolved, string(dns.Resolved)
	case whole == dns.Resolved:
		r.state.Reason, r.state.Cause = networkingv1.ReasonStale, string(kept)
	default:
		r.state.Reason, r.state.Cause = networkingv1.ReasonStale, string(whole)
	}
}

// addresses returns those that count. Each family has a right to half of the places.
func (r *nameState) addresses() []dns.Address {
	four, six := r.ipv4.count(), r.ipv6.count()
	const half = maxAddresses / 2
	return slices.Concat(
		r.ipv4.newest(max(maxAddresses-six, half)),
		r.ipv6.newest(max(maxAddresses-four, half)),
	)
}

// updateSettings takes over other settings of the same name, and says whether the next lookup moved.
func (r *nameState) updateSettings(s settings, now time.Time) bool {
	if r.settings == s {
		return false
	}
	r.settings = s
	if !r.state.LookedUp {
		return false
	}
	before := r.state.NextTime
	if most := r.lookedUpAt.Add(s.maxInterval); r.state.NextTime.After(most) {
		r.state.NextTime = most
	}
	r.updateState(now)
	r.capAtExpiry(now)
	return !r.state.NextTime.Equal(before)
}

// capAtExpiry has the name looked up when its addresses would go: either that saves them, or
// they go then and not whenever the next lookup would have been.
func (r *nameState) capAtExpiry(now time.Time) {
	if at := r.state.ExpiresAt; at.After(now) && at.Before(r.state.NextTime) {
		r.state.NextTime = at
	}
}
