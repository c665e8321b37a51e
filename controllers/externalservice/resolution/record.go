// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// record is what is known of one name. It has no clock and sends nothing: answers go in by apply,
// and the state comes out.
type record struct {
	settings

	ipv4, ipv6 family
	asked      time.Time
	// failures is how many lookups in a row failed, in one family at least.
	failures int
	state    State
}

// newRecord makes the record of a name that was not looked up yet.
func newRecord(n Name) *record {
	r := &record{settings: n.settings(), state: State{Endpoint: n.Endpoint}}
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
func (r *record) apply(a dns.Answer, now time.Time, at float64) {
	r.asked, r.state.LookedUp = now, true
	resolved := a.Outcome() == dns.Resolved
	if resolved {
		a.IPv4, a.IPv6 = r.ipv4.believed(a.IPv4), r.ipv6.believed(a.IPv6)
	}
	r.state.Denied = a.Denied
	r.ipv4.last, r.ipv6.last = a.IPv4.Outcome, a.IPv6.Outcome
	interval := r.interval(a)
	if resolved {
		r.state.ResolvedTime = now
		r.ipv4.take(a.IPv4, r.settings, interval, now)
		r.ipv6.take(a.IPv6, r.settings, interval, now)
	}
	if resolved && !failed(a.IPv4) && !failed(a.IPv6) {
		r.failures = 0
	} else {
		r.failures++
	}
	r.conclude(now)
	wait := r.wait(a, interval)
	r.state.NextTime = now.Add(r.jitter(wait, at))
	r.notBeyondExpiry(now)
}

// take takes in the part of a family of a name that resolves.
func (f *family) take(p dns.FamilyAnswer, s settings, interval time.Duration, now time.Time) {
	switch p.Outcome {
	case dns.Resolved:
		f.answered(p, s, interval, now)
	case dns.NXDomain:
		f.absent()
	case dns.ServFail, dns.Timeout, dns.Denied:
	}
}

// believed is the part of a family of a name that resolves in the other one. Some load balancers say
// of such a name that it does not exist where they mean that they have no answer: where there were
// addresses, that is a failure.
func (f *family) believed(p dns.FamilyAnswer) dns.FamilyAnswer {
	if p.NoName && f.size() > 0 {
		p.Outcome = dns.ServFail
	}
	return p
}

// failed says whether a part is neither addresses nor word that there are none.
func failed(p dns.FamilyAnswer) bool { return p.Outcome != dns.Resolved && p.Outcome != dns.NXDomain }

// interval is the time between lookups that an answer asks for.
func (r *record) interval(a dns.Answer) time.Duration {
	ttl := time.Duration(-1)
	for _, p := range []dns.FamilyAnswer{a.IPv4, a.IPv6} {
		if p.Outcome == dns.Resolved && (ttl < 0 || p.TTL < ttl) {
			ttl = p.TTL
		}
	}
	return r.clamp(ttl)
}

// wait is the time until the next lookup, before jitter.
func (r *record) wait(a dns.Answer, interval time.Duration) time.Duration {
	switch {
	case a.Outcome() != dns.Resolved:
		wait := r.retry(r.failures)
		if a.Outcome() == dns.NXDomain {
			wait = max(wait, min(a.IPv4.TTL, a.IPv6.TTL, r.mostRetry()))
		}
		return wait
	case r.ipv4.doubted() || r.ipv6.doubted():
		return r.shortest
	case r.failures > 0:
		return min(interval, max(r.retry(r.failures), r.shortest))
	default:
		return interval
	}
}

// doubted says whether addresses count that there were no records of, until that is said again.
func (f *family) doubted() bool { return f.last == dns.NXDomain && f.missed > 0 && f.size() > 0 }

// conclude says what the last answer means by now.
func (r *record) conclude(now time.Time) {
	whole := dns.Answer{IPv4: dns.FamilyAnswer{Outcome: r.ipv4.last}, IPv6: dns.FamilyAnswer{Outcome: r.ipv6.last}}.Outcome()
	r.state.ExpiresAt, r.state.Failed, r.state.Kept = time.Time{}, "", 0
	kept := dns.Outcome("")
	for i, f := range []*family{&r.ipv4, &r.ipv6} {
		if !f.keeps() || (whole == dns.Resolved && f.last == dns.NXDomain) {
			continue
		}
		if r.remove {
			expires := f.good.Add(r.keep)
			f.expire(expires, now)
			if f.size() == 0 {
				continue
			}
			if r.state.ExpiresAt.IsZero() || expires.Before(r.state.ExpiresAt) {
				r.state.ExpiresAt = expires
			}
		}
		kept = f.last
		r.state.Kept += f.size()
		if whole == dns.Resolved {
			r.state.Failed = []string{"A", "AAAA"}[i]
		}
	}
	r.state.Addresses = r.addresses()
	r.state.Surplus = r.ipv4.surplus + r.ipv6.surplus + max(0, r.ipv4.size()+r.ipv6.size()-maxAddresses)
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
func (r *record) addresses() []dns.Address {
	four, six := r.ipv4.size(), r.ipv6.size()
	const half = maxAddresses / 2
	return slices.Concat(
		r.ipv4.latest(max(maxAddresses-six, half)),
		r.ipv6.latest(max(maxAddresses-four, half)),
	)
}

// retune takes over other settings of the same name, and says whether the next lookup moved.
func (r *record) retune(s settings, now time.Time) bool {
	if r.settings == s {
		return false
	}
	r.settings = s
	if !r.state.LookedUp {
		return false
	}
	before := r.state.NextTime
	if most := r.asked.Add(s.longest); r.state.NextTime.After(most) {
		r.state.NextTime = most
	}
	r.conclude(now)
	r.notBeyondExpiry(now)
	return !r.state.NextTime.Equal(before)
}

// notBeyondExpiry has the name looked up when its addresses would go: either that saves them, or
// they go then and not whenever the next lookup would have been.
func (r *record) notBeyondExpiry(now time.Time) {
	if at := r.state.ExpiresAt; at.After(now) && at.Before(r.state.NextTime) {
		r.state.NextTime = at
	}
}
