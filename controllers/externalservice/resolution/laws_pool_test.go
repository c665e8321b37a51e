// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/internal/dns"
)

// restarted returns the name as another process begins with it, by what the status has.
func restarted(name Name, n *nameState, now time.Time) *nameState {
	name.Seed, name.SeedTime = n.state.Addresses, n.state.ResolvedTime
	if n.state.Reason == "Resolved" {
		name.SeedTime = now
	}
	return newNameState(name)
}

// missing returns those of the wanted addresses that others lack.
func missing(wanted, from []dns.Address) string {
	return format(slices.DeleteFunc(slices.Clone(wanted), func(a dns.Address) bool { return slices.Contains(from, a) }))
}

// worldOfVerdicts decides about addresses. Its verdicts may change at any time.
type worldOfVerdicts map[dns.Address]Verdict

func (w worldOfVerdicts) of(a dns.Address, _ bool) Verdict { return w[a] }

func (w worldOfVerdicts) usable(all []dns.Address) []dns.Address {
	return slices.DeleteFunc(slices.Clone(all), func(a dns.Address) bool { return w[a] != Usable })
}

// Law 1: an answer without a publishable address, in one family or in both, takes no publishable address away. The publishable
// part of an answer is published.
func TestLawAnAnswerOfWhichNothingMayBePublishedTakesNothingAway(t *testing.T) {
	four, six := strings.Fields("a b c d e f"), strings.Fields("a6 b6 c6 d6 e6 f6")
	failures := []string{"NXDomain", "ServFail", "Timeout", "Denied"}
	rapid.Check(t, func(rt *rapid.T) {
		verdicts, allowed := worldOfVerdicts{}, worldOfVerdicts{}
		for _, text := range slices.Concat(four, six) {
			verdicts[addresses(text)[0]] = rapid.SampledFrom([]Verdict{Usable, Usable, Denied}).Draw(rt, text)
		}
		lacks := rapid.SampledFrom([]string{"", "", "IPv4", "IPv6"}).Draw(rt, "the Service lacks")
		for a, v := range verdicts {
			if lacks == "IPv4" && a.IP.Is4() || lacks == "IPv6" && !a.IP.Is4() {
				allowed[a] = Unreachable
			}
			if v == Usable {
				verdicts[a] = allowed[a]
			}
		}
		draw := func(all []string, label string) dns.FamilyAnswer {
			if rapid.IntRange(0, 3).Draw(rt, label+" fails") == 0 {
				return part(rapid.SampledFrom(failures).Draw(rt, label), time.Minute)
			}
			some := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 3, rapid.ID[string]).Draw(rt, label)
			slices.Sort(some)
			return part(strings.Join(some, " "), time.Minute)
		}
		name := Name{MinTTL: time.Second, MaxTTL: time.Minute, KeepLastFor: time.Hour, Verdict: verdicts.of}
		n, now := newNameState(name), epoch
		for range rapid.IntRange(1, 30).Draw(rt, "lookups") {
			switch rapid.IntRange(0, 5).Draw(rt, "before") {
			case 0:
				n = restarted(name, n, now)
			case 1:
				a := addresses(rapid.SampledFrom(slices.Concat(four, six)).Draw(rt, "turns"))[0]
				if verdicts[a] == Denied {
					verdicts[a] = allowed[a]
				} else {
					verdicts[a] = Denied
				}
				shown := verdicts.usable(n.state.Addresses)
				n.admit(now)
				if lost := missing(shown, n.state.Addresses); lost != "" {
					rt.Fatalf("%s is lost by what the policy says", lost)
				}
			}
			answer, before := dns.Answer{IPv4: draw(four, "A"), IPv6: draw(six, "AAAA")}, verdicts.usable(n.state.Addresses)
			n.apply(answer, now, 0.5)
			now = n.state.NextTime
			is := n.state.Addresses
			if lost := missing(verdicts.usable(slices.Concat(answer.IPv4.Addresses, answer.IPv6.Addresses)), is); lost != "" {
				rt.Fatalf("%s is in the answer and may be published, and %s is there", lost, format(is))
			}
			usable4, usable6 := verdicts.usable(answer.IPv4.Addresses), verdicts.usable(answer.IPv6.Addresses)
			must := before
			switch {
			case len(usable4)+len(usable6) == 0:
			case len(usable4) == 0 && len(answer.IPv4.Addresses) > 0:
				must = ofFamily(before, false)
			case len(usable6) == 0 && len(answer.IPv6.Addresses) > 0:
				must = ofFamily(before, true)
			default:
				must = nil
			}
			if lost := missing(must, is); lost != "" {
				rt.Fatalf("%s is lost by %+v, %s and %s because of %s is left", lost, answer, format(is), n.state.Reason, n.state.Cause)
			}
			if len(usable4)+len(usable6) == 0 && len(verdicts.usable(is)) > 0 && n.state.Reason == "Resolved" {
				rt.Fatalf("%+v has nothing that may be published, and counts as resolved with %s", answer, format(is))
			}
			if wait := n.state.NextTime.Sub(n.lookedUpAt); wait <= 0 || wait > name.MaxTTL {
				rt.Fatalf("the next lookup is in %s", wait)
			}
		}
	})
}

// pool is a name whose answers have some of its addresses, and a process that looks it up.
type pool struct {
	*rapid.T

	members []dns.Address
	size    int
	now     time.Time
}

func drawPool(rt *rapid.T) *pool {
	members := addresses("a b c d e f g h i j k l m n o p q r s t")[:rapid.IntRange(3, 20).Draw(rt, "members")]
	return &pool{rt, members, rapid.IntRange(1, len(members)-1).Draw(rt, "in an answer"), epoch}
}

// answer draws an answer.
func (p *pool) answer(members []dns.Address, ttl time.Duration) dns.Answer {
	some := slices.Clone(rapid.Permutation(members).Draw(p.T, "order")[:min(p.size, len(members))])
	return dns.Answer{IPv4: dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: sorted(some), TTL: ttl}, IPv6: part("NXDomain", 0)}
}

// published returns the state of a name after so many answers that all of its addresses are published, as of a pool.
func (p *pool) published(name Name) *nameState {
	n := newNameState(name)
	for i := range 500 {
		if len(n.state.Addresses) == len(p.members) && n.ipv4.returned(pairReturns) {
			return n
		}
		some := slices.Concat(p.members, p.members)[i*p.size%len(p.members):][:p.size]
		n.apply(dns.Answer{IPv4: dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: sorted(some), TTL: time.Minute}, IPv6: part("NXDomain", 0)}, p.now, 0.5)
		p.now = n.state.NextTime
	}
	p.Fatalf("%s is published of %s", format(n.state.Addresses), format(p.members))
	return nil
}

// Laws 1 and 3: whatever fails, and for how long, with another TTL or other limits, and with a new process between any two
// lookups, no address of a pool is lost that a single process without failures has.
func TestLawForgettingAPoolIsHarmless(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := Name{MinTTL: time.Second, MaxTTL: time.Hour, KeepLastFor: 24 * time.Hour}
		p := drawPool(rt)
		kept, forgetful := p.published(name), p.published(name)
		for range rapid.IntRange(1, 40).Draw(rt, "lookups") {
			ttl := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 5 * time.Minute}).Draw(rt, "TTL")
			switch rapid.IntRange(0, 5).Draw(rt, "before") {
			case 0:
				forgetful = restarted(name, forgetful, p.now)
			case 1:
				failed := answerOf(rapid.SampledFrom([]string{"ServFail", "NXDomain", "Timeout", "Denied"}).Draw(rt, "fails"))
				for end := p.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 30 * time.Hour}).Draw(rt, "for")); p.now.Before(end); {
					forgetful.apply(failed, p.now, 0.5)
					p.now = forgetful.state.NextTime
				}
			case 2:
				limited := name
				limited.MinTTL = rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second}).Draw(rt, "minTTL")
				forgetful.update(limited, p.now)
			}
			answer := p.answer(p.members, ttl)
			kept.apply(answer, p.now, 0.5)
			forgetful.apply(answer, p.now, 0.5)
			if lost := missing(kept.state.Addresses, forgetful.state.Addresses); lost != "" {
				rt.Fatalf("%s is lost, and one process has %s", lost, format(kept.state.Addresses))
			}
			p.now = p.now.Add(max(ttl, time.Second))
		}
	})
}

// What a pool has given up goes within the same number of answers, whether a process is new or not.
func TestLawWhatLeavesAPoolGoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := Name{MinTTL: time.Second, MaxTTL: time.Hour, KeepLastFor: time.Hour}
		p := drawPool(rt)
		n := p.published(name)
		stays := p.members[:rapid.IntRange(1, len(p.members)-1).Draw(rt, "stay")]
		bound := max(maxMissed, maxMissedRounds*len(p.members)/min(p.size, len(stays))) + 1
		isNew := rapid.Bool().Draw(rt, "a new process")
		for i := range bound {
			if isNew && i == 0 {
				n = restarted(name, n, p.now)
			}
			n.apply(p.answer(stays, time.Minute), p.now, 0.5)
			p.now = n.state.NextTime
		}
		if left := missing(n.state.Addresses, stays); left != "" {
			rt.Fatalf("%s is left after %d answers", left, bound)
		}
	})
}
