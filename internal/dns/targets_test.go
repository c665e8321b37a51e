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

// RFC 2782: the target "." says that there is no such service, and a target is a name.
func TestWhatIsWrongWithTargetsIsSaid(t *testing.T) {
	s := serve(t, "_none._tcp.example.com. 100 SRV 0 0 0 .",
		"_both._tcp.example.com. 100 SRV 0 0 0 .", "_both._tcp.example.com. 100 SRV 1 0 80 a.example.com.",
		"_zero._tcp.example.com. 100 SRV 0 0 0 a.example.com.",
		"_gone._tcp.example.com. 100 SRV 0 0 80 nowhere.example.com.",
		"_literal._tcp.example.com. 100 SRV 0 0 80 192.0.2.1.",
		"_mixed._tcp.example.com. 100 SRV 0 0 80 a.example.com.", "_mixed._tcp.example.com. 100 SRV 0 0 80 192.0.2.9.",
		"_mixed._tcp.example.com. 100 SRV 0 0 81 nowhere.example.com.", "_mixed._tcp.example.com. 100 SRV 0 0 82 nowhere.example.com.",
		"a.example.com. 60 A 192.0.2.1")
	r := resolver(s)
	for service, want := range map[string]Answer{
		"_none": {NoService: true}, "_both": {}, "_zero": {}, "_gone": {Missing: 1}, "_literal": {Literals: 1}, "_mixed": {Missing: 1, Literals: 1},
		"_absent": {},
	} {
		got := r.Lookup(t.Context(), service+"._tcp.example.com", networkingv1.RecordSRV)
		if got.NoService != want.NoService || got.Missing != want.Missing || got.Literals != want.Literals {
			t.Errorf("%s: no service %t, %d targets are missing and %d are addresses", service, got.NoService, got.Missing, got.Literals)
		}
		resolves := service == "_both" || service == "_mixed"
		if (got.Outcome() == Resolved) != resolves || !resolves && got.Outcome() != NXDomain {
			t.Errorf("%s: %s", service, got.Outcome())
		}
	}
	if n := s.about("192.0.2.1."); n > 0 {
		t.Errorf("an address was looked up %d times", n)
	}
	s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		reply := new(dns.Msg).SetReply(query)
		reply.Truncated = true
		if record, err := dns.NewRR("_none._tcp.example.com. 100 SRV 0 0 0 ."); err == nil {
			reply.Answer = []dns.RR{record}
		}
		return w.WriteMsg(reply) == nil
	})
	if got := r.Lookup(t.Context(), "_none._tcp.example.com", networkingv1.RecordSRV); got.NoService {
		t.Error("an answer that is cut says that there is no service")
	}
}
