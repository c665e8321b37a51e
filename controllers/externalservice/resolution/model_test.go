// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// dnsModel is a name outside, as a model: sets of addresses that move, rotate and fail at random.
type dnsModel struct {
	*rand.Rand

	four, six []dns.Address
	subset    bool
	failing   [2]dns.Outcome
}

func (d *dnsModel) pool(six bool) []dns.Address {
	var set []dns.Address
	for range d.IntN(4) * d.IntN(60) {
		ip := netip.AddrFrom4([4]byte{198, 18, byte(d.IntN(2)), byte(d.IntN(256))})
		if six {
			ip = netip.AddrFrom16([16]byte{0x20, 1, 14: byte(d.IntN(2)), 15: byte(d.IntN(256))})
		}
		set = append(set, dns.Address{IP: ip})
	}
	slices.SortFunc(set, dns.Address.Compare)
	return slices.Compact(set)
}

// change changes the servers at random, most of the time not at all.
func (d *dnsModel) change() {
	switch d.IntN(12) {
	case 0:
		d.four = d.pool(false)
	case 1:
		d.six = d.pool(true)
	case 2:
		d.subset = !d.subset
	case 3:
		d.failing[d.IntN(2)] = []dns.Outcome{dns.ServFail, dns.Timeout, dns.Denied, dns.NXDomain}[d.IntN(4)]
	case 4, 5:
		d.failing = [2]dns.Outcome{}
	}
}

func (d *dnsModel) part(set []dns.Address, failing dns.Outcome) dns.FamilyAnswer {
	ttl := time.Duration(d.IntN(200)) * time.Second
	if failing != "" {
		return dns.FamilyAnswer{Outcome: failing, TTL: ttl}
	}
	if len(set) == 0 {
		return dns.FamilyAnswer{Outcome: dns.NXDomain, TTL: ttl}
	}
	set = slices.Clone(set)
	if d.subset {
		d.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		set = set[:1+d.IntN(len(set))]
		slices.SortFunc(set, dns.Address.Compare)
	}
	return dns.FamilyAnswer{Outcome: dns.Resolved, TTL: ttl, Addresses: set, Partial: d.IntN(10) == 0}
}

func (d *dnsModel) answer() dns.Answer {
	return dns.Answer{IPv4: d.part(d.four, d.failing[0]), IPv6: d.part(d.six, d.failing[1])}
}

// ofFamily returns the addresses of one family.
func ofFamily(list []dns.Address, six bool) []dns.Address {
	return slices.DeleteFunc(slices.Clone(list), func(a dns.Address) bool { return a.IP.Is4() == six })
}

func TestWhateverTheWorldDoes(t *testing.T) {
	for seed := range uint64(60) {
		run(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// run applies the answers of servers that change at random, and then of ones that do not.
func run(t *testing.T, seed uint64) {
	w := &dnsModel{Rand: rand.New(rand.NewPCG(seed, 1))}
	w.four, w.six = w.pool(false), w.pool(true)
	name := Name{MinTTL: 30 * time.Second, MaxTTL: 3 * time.Minute, KeepLastFor: time.Duration(w.IntN(30)) * time.Minute}
	if w.IntN(2) == 0 {
		name.OnFailure = networkingv1.ResolutionRemove
	}
	r, now, good := newNameState(name), epoch, time.Time{}
	for range 120 {
		w.change()
		answer, before := w.answer(), r.state.Addresses
		r.apply(answer, now, w.Float64())
		if answer.Outcome() == dns.Resolved {
			good = now
		}
		check(t, name, answer, before, r.state, now, good)
		now = r.state.NextTime
	}
	// Without changes the addresses are those of the servers, once what is kept must be gone.
	w.subset, w.failing = false, [2]dns.Outcome{}
	w.four, w.six = append(w.four, addresses("z")...)[:1], nil
	for end := now.Add(maxAbsence).Add(name.KeepLastFor); now.Before(end); now = r.state.NextTime {
		answer := w.answer()
		answer.IPv4.Partial = false
		r.apply(answer, now, w.Float64())
	}
	if !slices.Equal(r.state.Addresses, w.four) || r.state.Reason != networkingv1.ReasonResolved {
		t.Errorf("in the end %v, %s; want %v", r.state.Addresses, r.state.Reason, w.four)
	}
}

// check holds one step to what must always be true.
func check(t *testing.T, name Name, answer dns.Answer, before []dns.Address, s State, now, good time.Time) {
	t.Helper()
	if !s.LookedUp || s.Reason == "" || s.Cause == "" || len(s.Addresses) > 100 || !slices.IsSortedFunc(s.Addresses, dns.Address.Compare) {
		t.Errorf("settled %t, %q because of %q, %d addresses", s.LookedUp, s.Reason, s.Cause, len(s.Addresses))
	}
	if len(slices.Compact(slices.Clone(s.Addresses))) != len(s.Addresses) {
		t.Error("an address is there twice")
	}
	keeps := name.OnFailure != networkingv1.ResolutionRemove || now.Before(good.Add(name.KeepLastFor))
	if len(before) > 0 && len(s.Addresses) == 0 && keeps {
		t.Errorf("empty %s after a success", now.Sub(good))
	}
	if wait := s.NextTime.Sub(now); wait <= 0 || wait > name.MaxTTL {
		t.Errorf("the next lookup is after %s", wait)
	}
	if answer.Outcome() == dns.Resolved && s.NextTime.Sub(now) < name.MinTTL && !s.NextTime.Equal(s.ExpiresAt) {
		t.Errorf("the next lookup is after %s although it resolved", s.NextTime.Sub(now))
	}
	for six, part := range map[bool]dns.FamilyAnswer{false: answer.IPv4, true: answer.IPv6} {
		was, is := ofFamily(before, six), ofFamily(s.Addresses, six)
		failed := part.Outcome != dns.Resolved && (part.Outcome != dns.NXDomain || answer.Outcome() != dns.Resolved)
		if failed && name.OnFailure != networkingv1.ResolutionRemove && len(is) < min(len(was), 50) {
			t.Errorf("a failing family lost addresses: %d, then %d", len(was), len(is))
		}
		for _, address := range part.Addresses[:min(len(part.Addresses), 50)] {
			if !slices.Contains(is, address) {
				t.Errorf("%s was just seen and does not count", address.IP)
			}
		}
	}
	if !s.ExpiresAt.IsZero() && (!s.ExpiresAt.After(now) || s.NextTime.After(s.ExpiresAt)) {
		t.Errorf("addresses expire after %s, the next lookup is after %s", s.ExpiresAt.Sub(now), s.NextTime.Sub(now))
	}
}
