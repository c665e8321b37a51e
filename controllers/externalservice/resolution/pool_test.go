// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/dns"
)

// rotation returns lookups of 8 addresses out of a pool, the next ones each time.
func rotation(pool []dns.Address, i int) dns.Answer {
	var some []dns.Address
	for j := range 8 {
		some = append(some, pool[(i*8+j)%len(pool)])
	}
	slices.SortFunc(some, dns.Address.Compare)
	return dns.Answer{IPv4: dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: some, TTL: 2 * time.Second}, IPv6: dns.FamilyAnswer{Outcome: dns.NXDomain}}
}

func TestAPoolSettlesAndWhatItGivesUpGoes(t *testing.T) {
	pool := addresses("a b c d e f g h i j k l m n o p q r s t")
	name := Name{MinTTL: time.Second, MaxTTL: time.Hour}
	r, now, changes := newNameState(name), epoch, 0
	for i := range 200 {
		before := r.state.Addresses
		r.apply(rotation(pool, i), now, 0.5)
		if i > 5 && !slices.Equal(before, r.state.Addresses) {
			changes++
		}
		now = r.state.NextTime
	}
	if changes > 0 || len(r.state.Addresses) != 20 {
		t.Errorf("%d changes, %d addresses; want all 20 and no change", changes, len(r.state.Addresses))
	}

	// Another process has the same, whatever answer comes first.
	name.Seed, name.SeedTime = r.state.Addresses, epoch
	r = newNameState(name)
	for i := range 50 {
		r.apply(rotation(pool, i), now, 0.5)
		if len(r.state.Addresses) != 20 {
			t.Fatalf("%d addresses %d lookups after a restart", len(r.state.Addresses), i)
		}
		now = r.state.NextTime
	}

	// The pool shrinks to 10.
	for i := range maxMissed + 5 {
		r.apply(rotation(pool[:10], i), now, 0.5)
		now = r.state.NextTime
	}
	if !slices.Equal(r.state.Addresses, pool[:10]) {
		t.Errorf("%s is left of a pool of 10", format(r.state.Addresses))
	}
}

func TestAnAddressThatLeavesAPoolWithALongTTLIsNotHeldForTenOfIt(t *testing.T) {
	pool := addresses("a b c d e f g h i j k l m n o p q r s t")
	r, now := newNameState(Name{MaxTTL: time.Hour}), epoch
	answer := func(i int, of []dns.Address) {
		a := rotation(of, i)
		a.IPv4.TTL = time.Hour
		r.apply(a, now, 0)
		now = r.state.NextTime
	}
	for i := range 20 {
		answer(i, pool)
	}
	for i := range 4 {
		answer(i, pool[:8])
	}
	if !slices.Equal(r.state.Addresses, pool[:8]) {
		t.Errorf("%s after 4 hours without the others", format(r.state.Addresses))
	}
}

// The name of a database's writer flips between two servers while one fails over to the other, since its nameservers do
// not change at the same time: it has one address at a time, and the one that it left refuses writes.
func TestANameThatFlipsBetweenTwoAddressesHasTheOneOfItsLastAnswer(t *testing.T) {
	r, now := newNameState(Name{MinTTL: time.Second, MaxTTL: time.Hour}), epoch
	for i, address := range strings.Fields("a a b a b b a b b b") {
		r.apply(dns.Answer{IPv4: part(address, 5*time.Second), IPv6: part("NXDomain", 0)}, now, 0)
		if got := format(r.state.Addresses); got != address {
			t.Errorf("lookup %d: %q is published, and the answer is %q", i, got, address)
		}
		now = r.state.NextTime
	}
}

func TestAPoolThatGivesOneAddressAtATimeSettles(t *testing.T) {
	r, now := newNameState(Name{MinTTL: time.Second, MaxTTL: time.Hour}), epoch
	for i := range 60 {
		r.apply(dns.Answer{IPv4: part(string("abc"[i%3]), 5*time.Second), IPv6: part("NXDomain", 0)}, now, 0)
		if got := format(r.state.Addresses); i > 20 && got != "a b c" {
			t.Fatalf("lookup %d: %q of a pool of three", i, got)
		}
		now = r.state.NextTime
	}
}

func TestANameThatIsSaidNotToExistForOneFamilyKeepsItsAddresses(t *testing.T) {
	r := newNameState(Name{MinTTL: time.Second, MaxTTL: time.Hour})
	now := epoch
	for range 5 {
		r.apply(dns.Answer{IPv4: part("a", time.Second), IPv6: part("v6", time.Second)}, now, 0)
		now = r.state.NextTime
	}
	broken := dns.Answer{IPv4: part("a", time.Second), IPv6: dns.FamilyAnswer{Outcome: dns.NXDomain, NoName: true}}
	for range 20 {
		r.apply(broken, now, 0)
		now = r.state.NextTime
	}
	if got := format(r.state.Addresses); got != "a v6" || r.state.Reason != "Stale" || r.state.Failed != "AAAA" || r.state.Kept != 1 {
		t.Errorf("%q, %+v", got, r.state)
	}
	// That a family has no records is said by NOERROR; and where there never were any, all is well.
	r.apply(dns.Answer{IPv4: part("a", time.Second), IPv6: part("NXDomain", 0)}, now, 0)
	r.apply(dns.Answer{IPv4: part("a", time.Second), IPv6: part("NXDomain", 0)}, now.Add(time.Second), 0)
	r.apply(broken, now.Add(2*time.Second), 0)
	if got := format(r.state.Addresses); got != "a" || r.state.Reason != "Resolved" || r.failures != 0 {
		t.Errorf("%q, %+v", got, r.state)
	}
}

func TestAddressesThatDoNotCountAreCounted(t *testing.T) {
	for _, test := range []struct{ four, six, want int }{{60, 0, 0}, {150, 0, 50}, {60, 60, 20}, {1000, 3, 903}, {100, 0, 0}} {
		r := newNameState(Name{MaxTTL: time.Hour})
		var four, six []dns.Address
		for i := range test.four {
			four = append(four, dns.Address{IP: addresses("a")[0].IP.Next(), Port: uint16(i + 1)})
		}
		for i := range test.six {
			six = append(six, dns.Address{IP: addresses("a6")[0].IP, Port: uint16(i + 1)})
		}
		a := dns.Answer{IPv4: dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: four, TTL: time.Minute}, IPv6: dns.FamilyAnswer{Outcome: dns.NXDomain}}
		if test.six > 0 {
			a.IPv6 = dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: six, TTL: time.Minute}
		}
		r.apply(a, epoch, 0)
		if r.state.Surplus != test.want {
			t.Errorf("%d and %d: %d do not count, want %d", test.four, test.six, r.state.Surplus, test.want)
		}
	}
}
