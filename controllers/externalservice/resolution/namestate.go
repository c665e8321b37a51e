// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"slices"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// nameState is the state of one name. It has no clock and sends nothing: apply takes an answer, and state returns the result.
type nameState struct {
	settings

	// verdict decides which addresses may be published.
	verdict    func(address dns.Address, isHeld bool) Verdict
	ipv4, ipv6 family
	lookedUpAt time.Time
	// failures is how many lookups in a row failed, in at least one family.
	failures int
	state    State
}

// newNameState returns the state of a name that was not looked up yet.
func newNameState(n Name) *nameState {
	r := &nameState{settings: n.settings(), verdict: n.verdictOf()}
	r.seed(n)
	return r
}

// seed adds the addresses of a Seed to those that the name has of earlier ones. It must not have resolved yet.
func (n *nameState) seed(from Name) {
	var ipv4, ipv6 []dns.Address
	for _, address := range slices.Concat(n.state.Addresses, from.Seed) {
		if address.IP.Is4() {
			ipv4 = append(ipv4, address)
		} else {
			ipv6 = append(ipv6, address)
		}
	}
	n.ipv4.seed(ipv4, from.SeedTime, n.verdict)
	n.ipv6.seed(ipv6, from.SeedTime, n.verdict)
	if len(from.Seed) > 0 {
		n.state.ResolvedTime = from.SeedTime
	}
	n.state.Addresses = n.addresses()
}

// apply applies an answer. at, from 0 to 1, is the jitter of the next lookup.
func (n *nameState) apply(a dns.Answer, now time.Time, at float64) {
	n.lookedUpAt, n.state.LookedUp = now, true
	a = n.refuse(a)
	resolved := a.Outcome() == dns.Resolved
	if resolved {
		a.IPv4, a.IPv6 = n.ipv4.correctNoName(a.IPv4), n.ipv6.correctNoName(a.IPv6)
	}
	n.state.Denied, n.state.UnusedTargets, n.state.Partial = a.Denied, a.Unused, a.IPv4.IsIncomplete() || a.IPv6.IsIncomplete()
	n.state.MissingTargets, n.state.LiteralTargets, n.state.NoService = a.Missing, a.Literals, a.NoService
	n.ipv4.lastOutcome, n.ipv6.lastOutcome = a.IPv4.Outcome, a.IPv6.Outcome
	interval := n.interval(a)
	if resolved {
		n.state.ResolvedTime = now
		n.ipv4.apply(a.IPv4, n.settings, interval, now)
		n.ipv6.apply(a.IPv6, n.settings, interval, now)
	} else if a.NoService {
		n.ipv4.applyNoRecords()
		n.ipv6.applyNoRecords()
	}
	if resolved && !failed(a.IPv4) && !failed(a.IPv6) {
		n.failures = 0
	} else {
		n.failures++
	}
	n.updateState(now)
	wait := n.wait(a, interval)
	n.state.NextTime = now.Add(n.jitter(wait, at))
	n.capAtExpiry(now)
}

// refuse returns an answer without the addresses that may not be published. A family that has no others is Denied. Where
// one has no address that can be reached, and the other does not resolve, the name does not either: what it had is kept.
func (n *nameState) refuse(a dns.Answer) dns.Answer {
	var isUnreachable4, isUnreachable6 bool
	a.IPv4, isUnreachable4 = n.ipv4.refuse(a.IPv4, n.verdict)
	a.IPv6, isUnreachable6 = n.ipv6.refuse(a.IPv6, n.verdict)
	switch {
	case isUnreachable4 && a.IPv6.Outcome != dns.Resolved && n.ipv6.count() > 0:
		a.IPv4.Outcome = dns.NXDomain
	case isUnreachable6 && a.IPv4.Outcome != dns.Resolved && n.ipv4.count() > 0:
		a.IPv6.Outcome = dns.NXDomain
	}
	return a
}

// admit uses the addresses of the last answer that may be published by now, and has the name looked up at once, since they
// may replace others. It reports whether there are any.
func (n *nameState) admit(now time.Time) bool {
	isAdmitted := n.ipv4.admit(n.verdict, n.lookedUpAt)
	isAdmitted = n.ipv6.admit(n.verdict, n.lookedUpAt) || isAdmitted
	if !isAdmitted {
		return false
	}
	if !n.state.LookedUp {
		n.state.Addresses = n.addresses()
		return false
	}
	n.state.ResolvedTime, n.state.NextTime = n.lookedUpAt, now
	n.updateState(now)
	return true
}

// apply applies the answer of a family of a name that resolves.
func (f *family) apply(p dns.FamilyAnswer, s settings, interval time.Duration, now time.Time) {
	switch p.Outcome {
	case dns.Resolved:
		f.applyAddresses(p, s, interval, now)
	case dns.NXDomain:
		f.applyNoRecords()
	case dns.ServFail, dns.Truncated, dns.AliasLoop, dns.Timeout, dns.Denied:
	}
}

// correctNoName makes NXDOMAIN a failure where the other family resolves and there were addresses: some load
// balancers send it when they have no answer.
func (f *family) correctNoName(p dns.FamilyAnswer) dns.FamilyAnswer {
	if p.NoName && f.count() > 0 {
		p.Outcome = dns.ServFail
	}
	return p
}

// failed reports whether an answer is neither addresses nor that there are none.
func failed(p dns.FamilyAnswer) bool { return p.Outcome != dns.Resolved && p.Outcome != dns.NXDomain }

// interval returns the time between lookups after an answer. One whose addresses may not be published has a TTL as well.
func (n *nameState) interval(a dns.Answer) time.Duration {
	ttl := time.Duration(-1)
	for i, p := range []dns.FamilyAnswer{a.IPv4, a.IPv6} {
		hasAddresses := p.Outcome == dns.Resolved || len([]*family{&n.ipv4, &n.ipv6}[i].refused) > 0
		if hasAddresses && (ttl < 0 || p.TTL < ttl) {
			ttl = p.TTL
		}
	}
	return n.clamp(ttl)
}

// wait returns the time until the next lookup, without jitter.
func (n *nameState) wait(a dns.Answer, interval time.Duration) time.Duration {
	switch {
	case a.NoService && (n.ipv4.awaitsConfirmation() || n.ipv6.awaitsConfirmation()):
		return n.minInterval
	case a.Outcome() == dns.Denied && len(n.ipv4.refused)+len(n.ipv6.refused) > 0:
		return interval
	case a.Outcome() != dns.Resolved:
		wait := n.retry(n.failures)
		if a.Outcome() == dns.NXDomain {
			wait = max(wait, min(a.IPv4.TTL, a.IPv6.TTL, n.maxRetry()))
		}
		return wait
	case n.ipv4.awaitsConfirmation() || n.ipv6.awaitsConfirmation():
		return n.minInterval
	case n.failures > 0:
		return min(interval, max(n.retry(n.failures), n.minInterval))
	default:
		return interval
	}
}

// awaitsConfirmation reports whether addresses are kept until a second answer says that there are no records.
func (f *family) awaitsConfirmation() bool {
	return f.lastOutcome == dns.NXDomain && f.negatives > 0 && f.count() > 0
}

// updateState sets the state by the last answer, as of now.
func (n *nameState) updateState(now time.Time) {
	whole := dns.Answer{IPv4: dns.FamilyAnswer{Outcome: n.ipv4.lastOutcome}, IPv6: dns.FamilyAnswer{Outcome: n.ipv6.lastOutcome}}.Outcome()
	n.state.ExpiresAt, n.state.Failed, n.state.Kept = time.Time{}, "", 0
	kept := dns.Outcome("")
	for i, f := range []*family{&n.ipv4, &n.ipv6} {
		if !f.isKept() || (whole == dns.Resolved && f.lastOutcome == dns.NXDomain) {
			continue
		}
		if n.removeExpired && !f.lastResolved.IsZero() {
			expires := f.lastResolved.Add(n.keepFor)
			f.expire(expires, now)
			if f.count() == 0 {
				continue
			}
			if n.state.ExpiresAt.IsZero() || expires.Before(n.state.ExpiresAt) {
				n.state.ExpiresAt = expires
			}
		}
		kept = f.lastOutcome
		n.state.Kept += f.count()
		if whole == dns.Resolved {
			n.state.Failed = []string{"A", "AAAA"}[i]
		}
	}
	n.state.Addresses = n.addresses()
	n.state.Refused = len(n.ipv4.refused) + len(n.ipv6.refused)
	n.state.Surplus = n.ipv4.surplus + n.ipv6.surplus + max(0, n.ipv4.count()+n.ipv6.count()-maxAddresses)
	switch {
	case whole == dns.Denied || (kept == "" && whole != dns.Resolved):
		n.state.Reason, n.state.Cause = string(whole), string(whole)
	case kept == "":
		n.state.Reason, n.state.Cause = networkingv1.ReasonResolved, string(dns.Resolved)
	case whole == dns.Resolved:
		n.state.Reason, n.state.Cause = networkingv1.ReasonStale, string(kept)
	default:
		n.state.Reason, n.state.Cause = networkingv1.ReasonStale, string(whole)
	}
}

// addresses returns those in use. Each family may have half of maxAddresses, and what the other one leaves. Those that may
// not be published follow as far as there is room: the egress policy decides about them again.
func (n *nameState) addresses() []dns.Address {
	four, six := n.ipv4.count(), n.ipv6.count()
	const half = maxAddresses / 2
	all := slices.Concat(
		n.ipv4.newest(max(maxAddresses-six, half)),
		n.ipv6.newest(max(maxAddresses-four, half)),
	)
	for _, address := range slices.Concat(n.ipv4.refused, n.ipv6.refused) {
		if len(all) < maxAddresses && !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return sorted(all)
}

// update sets the settings of the name, and adds the Seed where it has never resolved. It reports whether the time of the
// next lookup changed.
func (n *nameState) update(name Name, now time.Time) bool {
	n.verdict = name.verdictOf()
	s, isSeeded := name.settings(), len(name.Seed) > 0 && n.state.ResolvedTime.IsZero()
	if n.settings == s && !isSeeded {
		return false
	}
	if n.settings = s; isSeeded {
		n.seed(name)
	}
	if !n.state.LookedUp {
		return false
	}
	before := n.state.NextTime
	if most := n.lookedUpAt.Add(s.maxInterval); n.state.NextTime.After(most) {
		n.state.NextTime = most
	}
	n.updateState(now)
	n.capAtExpiry(now)
	return !n.state.NextTime.Equal(before)
}

// capAtExpiry has the name looked up no later than when its addresses expire: that lookup renews or removes
// them.
func (n *nameState) capAtExpiry(now time.Time) {
	if at := n.state.ExpiresAt; at.After(now) && at.Before(n.state.NextTime) {
		n.state.NextTime = at
	}
}
