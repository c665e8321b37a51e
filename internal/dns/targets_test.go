// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"fmt"
	"testing"
	"time"

	"github.com/miekg/dns"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestTargetsAreLookedUpAgainWhenTheirOwnTTLHasPassed(t *testing.T) {
	s := serve(t, "_db._tcp.example.com. 1 SRV 0 1 5432 a.example.com.", "_db._tcp.example.com. 1 SRV 0 1 5432 b.example.com.",
		"a.example.com. 60 A 192.0.2.1", "b.example.com. 10 A 192.0.2.2", "b.example.com. 10 AAAA 2001:db8::2")
	now := time.Unix(1000, 0)
	r := New(Options{Nameservers: told(s).options.Nameservers, Now: func() time.Time { return now }})
	for _, step := range []struct {
		after      time.Duration
		a, b, ofDB int
	}{{0, 2, 2, 1}, {time.Second, 2, 2, 2}, {9 * time.Second, 2, 4, 3}} {
		now = now.Add(step.after)
		got := r.Lookup(t.Context(), "_db._tcp.example.com", networkingv1.RecordSRV)
		if got.Outcome() != Resolved || len(got.IPv4.Addresses) != 2 || got.IPv4.TTL != time.Second {
			t.Errorf("after %s: %+v", step.after, got.IPv4)
		}
		if a, b, db := s.about("a.example.com."), s.about("b.example.com."), s.about("_db._tcp.example.com."); a != step.a || b != step.b || db != step.ofDB {
			t.Errorf("after %s: asked %d, %d and %d times, want %d, %d and %d", step.after, a, b, db, step.a, step.b, step.ofDB)
		}
	}
}

func TestQueriesAreCounted(t *testing.T) {
	s := serve(t, "_db._tcp.example.com. 1 SRV 0 1 5432 a.example.com.", "a.example.com. 60 A 192.0.2.1")
	r := resolver(s)
	if got := r.Lookup(t.Context(), "_db._tcp.example.com", networkingv1.RecordSRV).Queries; got != 3 || got != len(s.asked()) {
		t.Errorf("%d queries, the server saw %d, want 3", got, len(s.asked()))
	}
}

func TestOnlySoManyTargetsAreKept(t *testing.T) {
	var kept targetAnswers
	now := time.Unix(1000, 0)
	found := FamilyAnswer{Outcome: Resolved, TTL: time.Minute}
	for i := range 2*maxTargetAnswers + 1 {
		kept.put(fmt.Sprint(i), Answer{IPv4: found, IPv6: found}, now)
	}
	if len(kept.kept) > maxTargetAnswers || len(kept.until) != len(kept.kept) {
		t.Errorf("%d answers are kept", len(kept.kept))
	}
}

// What was taken out of DNS goes, although another target does not resolve.
func TestATargetThatFailsKeepsItsOwnAddressesAlone(t *testing.T) {
	s := serve(t, "_db._tcp.example.com. 1 SRV 0 1 5432 a.example.com.", "_db._tcp.example.com. 1 SRV 0 1 5432 b.example.com.",
		"a.example.com. 1 A 192.0.2.1", "b.example.com. 1 A 192.0.2.2")
	now := time.Unix(1000, 0)
	r := New(Options{Nameservers: told(s).options.Nameservers, Now: func() time.Time { return now }})
	first := r.Lookup(t.Context(), "_db._tcp.example.com", networkingv1.RecordSRV).IPv4
	if first.IsIncomplete() || len(first.Addresses) != 2 {
		t.Errorf("at first %+v", first)
	}
	s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		return query.Question[0].Name == "b.example.com." && rcode(dns.RcodeServerFailure)(w, query)
	})
	now = now.Add(time.Minute)
	got := r.Lookup(t.Context(), "_db._tcp.example.com", networkingv1.RecordSRV).IPv4
	if got.Partial || len(got.Addresses) != 1 || len(got.Former) != 1 || got.Former[0] != first.Addresses[1] {
		t.Errorf("then %+v, of %+v", got, first)
	}
}
