// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// addresses parses texts. One letter is an IPv4 address, and a letter with a 6 is an IPv6 address.
func addresses(text string) []dns.Address {
	var list []dns.Address
	for _, word := range strings.Fields(text) {
		if len(word) == 2 {
			list = append(list, dns.Address{IP: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", word[0]))})
		} else {
			list = append(list, dns.Address{IP: netip.AddrFrom4([4]byte{192, 0, 2, word[0]})})
		}
	}
	return list
}

// format is the opposite of addresses.
func format(list []dns.Address) string {
	var text []string
	for _, address := range list {
		if bytes := address.IP.AsSlice(); address.IP.Is4() {
			text = append(text, string(bytes[3]))
		} else {
			text = append(text, string(bytes[15])+"6")
		}
	}
	return strings.Join(text, " ")
}

// part reads a family's part: addresses, or an outcome.
func part(text string, ttl time.Duration) dns.FamilyAnswer {
	for _, o := range []dns.Outcome{dns.NXDomain, dns.ServFail, dns.Timeout, dns.Denied} {
		if text == string(o) {
			return dns.FamilyAnswer{Outcome: o}
		}
	}
	p := dns.FamilyAnswer{Outcome: dns.Resolved, TTL: ttl}
	text, former, _ := strings.Cut(text, " without ")
	p.Former = addresses(former)
	p.Addresses = addresses(strings.TrimPrefix(text, "partial "))
	p.Partial = strings.HasPrefix(text, "partial ")
	return p
}

// step is an answer, given when the lookup before it was due again, and what has to be known then.
type step struct{ four, six, want, reason string }

func TestAnswersBecomeAddresses(t *testing.T) {
	const nx, bad, none, denied = "NXDomain", "ServFail", "Timeout", "Denied"
	for name, test := range map[string]struct {
		seed  string
		steps []step
	}{
		"a record that moves is followed at once": {"", []step{
			{"x", nx, "x", "Resolved"}, {"y", nx, "y", "Resolved"}, {"y", nx, "y", "Resolved"},
		}},
		"a failover and its failback are no rotation": {"", []step{
			{"x", nx, "x", ""}, {"y", nx, "y", ""}, {"x", nx, "x", ""}, {"x", nx, "x", ""},
		}},
		"a small set that moves is replaced": {"", []step{
			{"a b c", nx, "a b c", ""}, {"d e f", nx, "d e f", ""},
		}},
		"one address of a small set goes at once": {"", []step{
			{"a b c", nx, "a b c", ""}, {"a b", nx, "a b", ""},
		}},
		"two records that take turns are united once that shows": {"", []step{
			{"a", nx, "a", ""}, {"b", nx, "b", ""}, {"a", nx, "a", ""}, {"b", nx, "b", ""}, {"a", nx, "a", ""}, {"b", nx, "b", ""},
			{"a", nx, "a", ""}, {"b", nx, "a b", ""}, {"a", nx, "a b", ""}, {"b", nx, "a b", ""}, {"b", nx, "a b", ""},
		}},
		"three that take turns as well": {"", []step{
			{"a", nx, "a", ""}, {"b", nx, "b", ""}, {"c", nx, "c", ""}, {"a", nx, "a", ""}, {"b", nx, "a b", ""},
			{"c", nx, "a b c", ""}, {"a", nx, "a b c", ""}, {"b", nx, "a b c", ""},
		}},
		"an address leaves a rotation after two lookups without it": {"", []step{
			{"a", nx, "a", ""}, {"b", nx, "b", ""}, {"c", nx, "c", ""}, {"a", nx, "a", ""}, {"b", nx, "a b", ""},
			{"b", nx, "a b", ""}, {"b", nx, "b", ""},
		}},
		"a large answer is a choice out of a pool": {"", []step{
			{"a b c d e f g h", nx, "a b c d e f g h", ""}, {"a b c d i j k l", nx, "a b c d e f g h i j k l", ""},
			{"m n o p q r s t", nx, "a b c d e f g h i j k l m n o p q r s t", ""},
			{"m n o p q r s t", nx, "a b c d i j k l m n o p q r s t", ""},
			{"m n o p q r s t", nx, "m n o p q r s t", ""},
		}},
		"a pool that shrinks to a few is replaced": {"", []step{
			{"a b c d e f g h", nx, "a b c d e f g h", ""}, {"a b", nx, "a b", ""},
		}},
		"a partial answer removes nothing": {"", []step{
			{"a b", nx, "a b", ""}, {"partial c", nx, "a b c", ""}, {"partial c", nx, "a b c", ""}, {"c", nx, "c", ""},
		}},
		"the previous addresses of a target that fails stay": {"", []step{
			{"a b c", nx, "a b c", ""}, {"a without b", nx, "a b", ""}, {"a without b", nx, "a b", ""}, {"a", nx, "a", ""},
		}},
		"a failing family keeps its addresses while the other moves": {"", []step{
			{"a", "v6", "a v6", "Resolved"}, {"b", bad, "b v6", "Stale"}, {"c", none, "c v6", "Stale"}, {"c", "w6", "c w6", "Resolved"},
		}},
		"so does IPv4": {"", []step{
			{"a", "v6", "a v6", "Resolved"}, {none, "w6", "a w6", "Stale"}, {denied, "w6", "a w6", "Stale"},
		}},
		"a family that never resolved does not matter": {"", []step{
			{"a", bad, "a", "Resolved"}, {"b", none, "b", "Resolved"}, {"b", denied, "b", "Resolved"},
		}},
		"no records once may be a slip": {"", []step{
			{"a", "v6", "a v6", "Resolved"}, {"a", nx, "a v6", "Resolved"}, {"a", "v6", "a v6", "Resolved"},
			{"a", nx, "a v6", "Resolved"}, {"a", nx, "a", "Resolved"},
		}},
		"nothing at all keeps the addresses": {"", []step{
			{"a", "v6", "a v6", "Resolved"}, {nx, nx, "a v6", "Stale"}, {nx, nx, "a v6", "Stale"}, {bad, none, "a v6", "Stale"}, {"b", nx, "b v6", "Resolved"},
		}},
		"a first failure is reported as it is": {"", []step{
			{nx, nx, "", nx}, {bad, nx, "", bad}, {none, none, "", none}, {none, bad, "", bad}, {denied, denied, "", denied}, {"a", nx, "a", "Resolved"},
		}},
		"a name that turns into the cluster says so": {"", []step{
			{"a", nx, "a", "Resolved"}, {denied, denied, "a", denied}, {denied, nx, "a", denied},
		}},
		"seeds outlive failures":                        {"a b v6", []step{{none, none, "a b v6", "Stale"}, {"c", "v6", "c v6", "Resolved"}}},
		"seeds stay as in a pool with fewer of them":    {"a b c", append(slices.Repeat([]step{{"a", nx, "a b c", ""}}, 15), step{"a", nx, "a", ""})},
		"seeds stay as in a rotation with as many":      {"a b", []step{{"a c", nx, "a b c", ""}, {"a c", nx, "a b c", ""}, {"a c", nx, "a c", ""}}},
		"seeds go with an answer that has none":         {"a b c", []step{{"d", nx, "d", ""}}},
		"seeds that are confirmed are like any":         {"a b", []step{{"a b", nx, "a b", ""}, {"a", nx, "a", ""}}},
		"a seed of a family is not lost by one no data": {"a v6", []step{{"a", nx, "a v6", "Resolved"}, {"a", nx, "a", "Resolved"}}},
	} {
		t.Run(name, func(t *testing.T) {
			now := epoch
			r := newNameState(Name{MinTTL: 30 * time.Second, MaxTTL: time.Hour, KeepLastFor: 24 * time.Hour,
				Seed: addresses(test.seed), SeedTime: now.Add(-30 * time.Second)})
			if got := format(r.state.Addresses); got != test.seed || r.state.Reason != "" || r.state.LookedUp {
				t.Errorf("before the first lookup: %q, %q, settled %t", got, r.state.Reason, r.state.LookedUp)
			}
			for i, step := range test.steps {
				r.apply(dns.Answer{IPv4: part(step.four, time.Minute), IPv6: part(step.six, time.Minute)}, now, 1)
				if got := format(r.state.Addresses); got != step.want {
					t.Errorf("step %d: %q, want %q", i, got, step.want)
				}
				if step.reason != "" && r.state.Reason != step.reason {
					t.Errorf("step %d: reason %q, want %q", i, r.state.Reason, step.reason)
				}
				if !r.state.LookedUp || !r.state.NextTime.After(now) || !r.state.ExpiresAt.IsZero() {
					t.Errorf("step %d: settled %t, next after %s, expires %s", i, r.state.LookedUp, r.state.NextTime.Sub(now), r.state.ExpiresAt)
				}
				now = r.state.NextTime
			}
		})
	}
}

func TestCauseIsHowTheLookupEnded(t *testing.T) {
	for _, test := range []struct{ four, six, reason, cause string }{
		{"a", "v6", "Resolved", "Resolved"},
		{"a", "NXDomain", "Resolved", "Resolved"},
		{"a", "Timeout", "Stale", "Timeout"},
		{"a", "Denied", "Stale", "Denied"},
		{"NXDomain", "NXDomain", "Stale", "NXDomain"},
		{"NXDomain", "Timeout", "Stale", "Timeout"},
		{"ServFail", "Timeout", "Stale", "ServFail"},
		{"Denied", "Timeout", "Denied", "Denied"},
	} {
		r := newNameState(Name{Seed: addresses("a v6"), SeedTime: epoch})
		r.apply(dns.Answer{IPv4: part(test.four, time.Minute), IPv6: part(test.six, time.Minute)}, epoch, 0)
		if r.state.Reason != test.reason || r.state.Cause != test.cause {
			t.Errorf("%s, %s: %s because of %s, want %s because of %s", test.four, test.six, r.state.Reason, r.state.Cause, test.reason, test.cause)
		}
	}
}

func TestAddressesOutliveTheLastSuccessForAsLongAsTheyMay(t *testing.T) {
	name := Name{MinTTL: 30 * time.Second, MaxTTL: time.Hour, KeepLastFor: 10 * time.Minute, OnFailure: networkingv1.ResolutionRemove}
	r, now := newNameState(name), epoch
	r.apply(dns.Answer{IPv4: part("a", time.Minute), IPv6: part("v6", time.Minute)}, now, 0)
	expires := epoch.Add(10 * time.Minute)
	for r.state.NextTime.Before(expires) {
		now = r.state.NextTime
		r.apply(dns.Answer{IPv4: part("ServFail", 0), IPv6: part("Timeout", 0)}, now, 1)
		if got := format(r.state.Addresses); got != "a v6" || r.state.Reason != "Stale" || !r.state.ExpiresAt.Equal(expires) {
			t.Fatalf("after %s: %q, %s, until %s", now.Sub(epoch), got, r.state.Reason, r.state.ExpiresAt.Sub(epoch))
		}
	}
	if now = r.state.NextTime; !now.Equal(expires) {
		t.Errorf("the last lookup before they go is after %s, want at 10m", now.Sub(epoch))
	}
	r.apply(dns.Answer{IPv4: part("ServFail", 0), IPv6: part("Timeout", 0)}, now, 1)
	if len(r.state.Addresses) > 0 || r.state.Reason != "ServFail" || !r.state.ExpiresAt.IsZero() {
		t.Errorf("then: %q, %s, until %s; want nothing left", format(r.state.Addresses), r.state.Reason, r.state.ExpiresAt)
	}
}

func TestAFamilyExpiresAlone(t *testing.T) {
	name := Name{MinTTL: time.Minute, MaxTTL: time.Hour, KeepLastFor: 150 * time.Second, OnFailure: networkingv1.ResolutionRemove}
	r, now := newNameState(name), epoch
	r.apply(dns.Answer{IPv4: part("a", time.Minute), IPv6: part("v6", time.Minute)}, now, 0)
	for _, want := range []string{"a v6", "a v6", "a", "a"} {
		now = r.state.NextTime
		r.apply(dns.Answer{IPv4: part("a", time.Minute), IPv6: part("ServFail", 0)}, now, 0)
		if got := format(r.state.Addresses); got != want {
			t.Errorf("after %s: %q, want %q", now.Sub(epoch), got, want)
		}
	}
	if r.state.Reason != "Resolved" {
		t.Errorf("reason %s, want Resolved once nothing is kept", r.state.Reason)
	}
}

func TestSeedsCountAsSeenAtTheirTime(t *testing.T) {
	name := Name{KeepLastFor: time.Hour, OnFailure: networkingv1.ResolutionRemove, Seed: addresses("a"), SeedTime: epoch.Add(-59 * time.Minute)}
	r := newNameState(name)
	r.apply(dns.Answer{IPv4: part("Timeout", 0), IPv6: part("Timeout", 0)}, epoch, 0)
	if want := epoch.Add(time.Minute); !r.state.ExpiresAt.Equal(want) || !r.state.ResolvedTime.Equal(name.SeedTime) {
		t.Errorf("until %s, resolved at %s; want until %s, and the time of the seed", r.state.ExpiresAt, r.state.ResolvedTime, want)
	}
	name.SeedTime = epoch.Add(-61 * time.Minute)
	r = newNameState(name)
	r.apply(dns.Answer{IPv4: part("Timeout", 0), IPv6: part("Timeout", 0)}, epoch, 0)
	if len(r.state.Addresses) > 0 {
		t.Errorf("%q are kept for longer than they may", format(r.state.Addresses))
	}
}

func TestNoMoreThanAHundredAddressesCount(t *testing.T) {
	pool := func(from, n int) (list []dns.Address) {
		for i := range n {
			list = append(list, dns.Address{IP: netip.AddrFrom4([4]byte{198, 18, byte((from + i) >> 8), byte(from + i)})})
		}
		return list
	}
	pool6 := func(n int) (list []dns.Address) {
		for i := range n {
			list = append(list, dns.Address{IP: netip.AddrFrom16([16]byte{0x20, 1, 13: 1, 14: byte(i >> 8), 15: byte(i)})})
		}
		return list
	}
	answer := func(four, six []dns.Address) dns.Answer {
		return dns.Answer{IPv4: dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: four, TTL: time.Minute}, IPv6: dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: six, TTL: time.Minute}}
	}
	r := newNameState(Name{MaxTTL: time.Hour})
	r.apply(answer(pool(0, 60), nil), epoch, 0)
	r.apply(answer(pool(60, 60), nil), epoch.Add(time.Minute), 0)
	want := slices.Concat(pool(0, 40), pool(60, 60))
	if !slices.Equal(r.state.Addresses, want) {
		t.Errorf("%d addresses, want those seen last and then the first in order", len(r.state.Addresses))
	}
	r.apply(answer(pool(0, 500), pool6(20)), epoch.Add(2*time.Minute), 0)
	if !slices.Equal(r.state.Addresses, slices.Concat(pool(0, 80), pool6(20))) {
		t.Errorf("%d addresses, want 80 and 20", len(r.state.Addresses))
	}
	r.apply(answer(pool(0, 500), pool6(500)), epoch.Add(3*time.Minute), 0)
	if !slices.Equal(r.state.Addresses, slices.Concat(pool(0, 50), pool6(50))) {
		t.Errorf("%d addresses, want 50 and 50", len(r.state.Addresses))
	}
	known := len(r.ipv4.addresses) + len(r.ipv6.addresses)
	for i := range 50 {
		r.apply(answer(pool(i*97, 8), pool6(8)), epoch.Add(4*time.Minute+time.Duration(i)), 0)
		known = max(known, len(r.ipv4.addresses)+len(r.ipv6.addresses))
	}
	if known > 4*maxAddresses {
		t.Errorf("%d addresses are remembered", known)
	}
}

func TestAPoolThatComesInSmallAnswersIsPublishedWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	pool := make([]dns.Address, 20)
	for i := range pool {
		pool[i].IP = netip.AddrFrom4([4]byte{198, 18, 0, byte(i)})
	}
	r := newNameState(Name{MaxTTL: time.Hour})
	changes, before := 0, 0
	for i := range 500 {
		random.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		answer := sorted(slices.Clone(pool[:2]))
		r.apply(dns.Answer{IPv4: dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: answer, TTL: 5 * time.Second}, IPv6: part("NXDomain", 0)},
			epoch.Add(time.Duration(i)*5*time.Second), 0)
		if n := len(r.state.Addresses); i >= 100 && n != before {
			changes++
		}
		before = len(r.state.Addresses)
	}
	if before < 18 || changes > 20 {
		t.Errorf("%d of 20 addresses in the end, %d changes in 400 lookups", before, changes)
	}
}

func TestANameThatHasNeverResolvedTakesNothingAway(t *testing.T) {
	for _, outcome := range []string{"NXDomain", "ServFail", "Timeout", "Denied"} {
		for _, policy := range []networkingv1.ResolutionFailurePolicy{networkingv1.ResolutionKeepLast, networkingv1.ResolutionRemove} {
			now := epoch
			n := newNameState(Name{MinTTL: time.Second, MaxTTL: time.Minute, KeepLastFor: time.Minute, OnFailure: policy, Seed: addresses("a v6")})
			for range 500 {
				n.apply(dns.Answer{IPv4: part(outcome, 0), IPv6: part(outcome, 0)}, now, 0)
				if got := format(n.state.Addresses); got != "a v6" || !n.state.ResolvedTime.IsZero() || n.state.Kept != 2 {
					t.Fatalf("%s, %s: %q after %s, resolved at %s", outcome, policy, got, now.Sub(epoch), n.state.ResolvedTime)
				}
				now = n.state.NextTime
			}
			n.apply(dns.Answer{IPv4: part("b", time.Minute), IPv6: part("NXDomain", 0)}, now, 0)
			n.apply(dns.Answer{IPv4: part("b", time.Minute), IPv6: part("NXDomain", 0)}, n.state.NextTime, 0)
			if got := format(n.state.Addresses); got != "b" {
				t.Errorf("%s, %s: %q once it resolves, want b", outcome, policy, got)
			}
		}
	}
}

// RFC 2782: there is decidedly no such service. That is known, unlike what a failure says.
func TestAServiceThatIsSaidNotToExistGoesOnceThatWasSaidTwice(t *testing.T) {
	n, now := newNameState(Name{MinTTL: time.Second, MaxTTL: time.Hour, KeepLastFor: 24 * time.Hour, Seed: addresses("a v6"), SeedTime: epoch}), epoch
	none := dns.Answer{IPv4: part("NXDomain", 0), IPv6: part("NXDomain", 0), NoService: true}
	none.IPv4.TTL, none.IPv6.TTL = time.Minute, time.Minute
	for i, want := range []string{"a v6", "", ""} {
		n.apply(none, now, 0)
		if got := format(n.state.Addresses); got != want || !n.state.NoService {
			t.Errorf("answer %d: %q is left, want %q", i, got, want)
		}
		if wait := n.state.NextTime.Sub(now); i == 0 && wait != time.Second || i > 0 && wait < time.Minute {
			t.Errorf("answer %d: the next lookup is in %s", i, wait)
		}
		now = n.state.NextTime
	}
	if n.state.Reason != "NXDomain" {
		t.Errorf("reason %s", n.state.Reason)
	}
	n.apply(dns.Answer{IPv4: part("b", time.Minute), IPv6: part("NXDomain", 0)}, now, 0)
	if got := format(n.state.Addresses); got != "b" || n.state.NoService || n.state.Reason != "Resolved" {
		t.Errorf("then %q, %+v", got, n.state)
	}
}

// What a filter or a policy lets through is found within a TTL, however long nothing could be published. Where the policy
// changes, nothing is waited for.
func TestAnAnswerOfWhichNothingMayBePublishedIsAskedForAgainAfterItsTTL(t *testing.T) {
	verdicts := worldOfVerdicts{addresses("b")[0]: Denied}
	n, now := newNameState(Name{MinTTL: time.Second, MaxTTL: time.Hour, Verdict: verdicts.of}), epoch
	n.apply(dns.Answer{IPv4: part("a", time.Minute), IPv6: part("NXDomain", 0)}, now, 0)
	for range 20 {
		now = n.state.NextTime
		n.apply(dns.Answer{IPv4: part("b", time.Minute), IPv6: part("NXDomain", 0)}, now, 0)
		if got := format(n.state.Addresses); got != "a b" || n.state.Kept != 1 || n.state.Refused != 1 || n.state.Reason != "Denied" || !n.state.NextTime.Equal(now.Add(time.Minute)) {
			t.Fatalf("%q, %+v", got, n.state)
		}
	}
	if n.admit(now) {
		t.Error("nothing has changed")
	}
	verdicts[addresses("b")[0]] = Usable
	if got := n.admit(now); !got || format(n.state.Addresses) != "a b" || n.state.Reason != "Resolved" || n.state.Refused != 0 || !n.state.NextTime.Equal(now) {
		t.Errorf("%t, %+v", got, n.state)
	}
	n.apply(dns.Answer{IPv4: part("b", time.Minute), IPv6: part("NXDomain", 0)}, now, 0)
	if got := format(n.state.Addresses); got != "b" {
		t.Errorf("%q once it is looked up again", got)
	}
}
