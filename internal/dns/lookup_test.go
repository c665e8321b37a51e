// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// plain compares addresses by what they are.
var plain = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func resolved(ttl int, addresses ...string) FamilyAnswer {
	return FamilyAnswer{Outcome: Resolved, TTL: time.Duration(ttl) * time.Second, Addresses: at(addresses...)}
}

// missing is a name that does not exist.
func missing(ttl int) FamilyAnswer {
	return FamilyAnswer{Outcome: NXDomain, TTL: time.Duration(ttl) * time.Second, NoName: true}
}

func failed(o Outcome, ttl int) FamilyAnswer {
	return FamilyAnswer{Outcome: o, TTL: time.Duration(ttl) * time.Second}
}

func TestLookupFollowsRecords(t *testing.T) {
	s := serve(t,
		"both.example.com. 300 A 192.0.2.2", "both.example.com. 60 A 192.0.2.1", "both.example.com. 30 A 192.0.2.1", "both.example.com. 200 AAAA 2001:db8::1",
		"four.example.com. 300 A 192.0.2.1",
		"one.example.com. 50 CNAME two.example.com.", "two.example.com. 70 CNAME both.example.com.",
		"dangling.example.com. 70 CNAME nowhere.example.com.",
		"loop.example.com. 1 CNAME pool.example.com.", "pool.example.com. 1 CNAME loop.example.com.",
		"self.example.com. 1 CNAME self.example.com.",
		"nul.example.com. 1 CNAME .",
		"inner.example.com. 5 CNAME db.shop.svc.cluster.local.", "db.shop.svc.cluster.local. 5 A 192.0.2.9",
		"deep.example.com. 5 CNAME inner.example.com.",
		"kube.example.com. 5 CNAME Kubernetes.Default.SVC.", "kubernetes.default.svc. 5 A 192.0.2.9",
		"home.example.com. 5 CNAME x.localhost.", "x.localhost. 5 A 192.0.2.9",
		"mixed.example.com. 5 A 192.0.2.1", "mixed.example.com. 5 AAAA ::ffff:192.0.2.1",
		"old.example.com. 4294967295 A 192.0.2.1",
	)
	for i := range 17 {
		s.add(t, fmt.Sprintf("c%d.example.com. 9 CNAME c%d.example.com.", i, i+1))
	}
	s.add(t, "c17.example.com. 9 A 192.0.2.1")
	for name, want := range map[string]struct{ four, six FamilyAnswer }{
		"both.example.com":             {resolved(30, "192.0.2.1", "192.0.2.2"), resolved(200, "2001:db8::1")},
		"BOTH.example.com.":            {resolved(30, "192.0.2.1", "192.0.2.2"), resolved(200, "2001:db8::1")},
		"four.example.com":             {resolved(300, "192.0.2.1"), failed(NXDomain, 90)},
		"one.example.com":              {resolved(30, "192.0.2.1", "192.0.2.2"), resolved(50, "2001:db8::1")},
		"none.example.com":             {missing(90), missing(90)},
		"dangling.example.com":         {missing(70), missing(70)},
		"c1.example.com":               {resolved(9, "192.0.2.1"), failed(NXDomain, 9)},
		"c0.example.com":               {failed(AliasLoop, 0), failed(AliasLoop, 0)},
		"loop.example.com":             {failed(AliasLoop, 0), failed(AliasLoop, 0)},
		"self.example.com":             {failed(AliasLoop, 0), failed(AliasLoop, 0)},
		"nul.example.com":              {failed(ServFail, 0), failed(ServFail, 0)},
		"inner.example.com":            {failed(Denied, 0), failed(Denied, 0)},
		"deep.example.com":             {failed(Denied, 0), failed(Denied, 0)},
		"kube.example.com":             {failed(Denied, 0), failed(Denied, 0)},
		"home.example.com":             {failed(Denied, 0), failed(Denied, 0)},
		"db.shop.svc.cluster.local":    {failed(Denied, 0), failed(Denied, 0)},
		"DB.shop.svc.Cluster.Local.":   {failed(Denied, 0), failed(Denied, 0)},
		"1-2-3-4.pod.cluster.local":    {failed(Denied, 0), failed(Denied, 0)},
		"db.shop.svc":                  {failed(Denied, 0), failed(Denied, 0)},
		"localhost":                    {failed(Denied, 0), failed(Denied, 0)},
		"mixed.example.com":            {resolved(5, "192.0.2.1"), failed(ServFail, 5)},
		"old.example.com":              {resolved(0, "192.0.2.1"), failed(NXDomain, 90)},
		"":                             {failed(NXDomain, 0), failed(NXDomain, 0)},
		strings.Repeat("a.", 200):      {failed(NXDomain, 0), failed(NXDomain, 0)},
		"notcluster.local.example.com": {missing(90), missing(90)},
	} {
		t.Run(name, func(t *testing.T) {
			got := look(t, resolver(s), name)
			if diff := cmp.Diff(want.four, got.IPv4, plain); diff != "" {
				t.Errorf("IPv4 (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.six, got.IPv6, plain); diff != "" {
				t.Errorf("IPv6 (-want +got):\n%s", diff)
			}
			for _, p := range []FamilyAnswer{got.IPv4, got.IPv6} {
				if p.Outcome != Resolved && p.Outcome != NXDomain && got.Err == nil {
					t.Error("no detail of what failed")
				}
			}
		})
	}
	for _, query := range s.asked() {
		if query = strings.ToLower(query); strings.HasSuffix(query, ".cluster.local.") || strings.HasSuffix(query, ".svc.") || strings.HasSuffix(query, "localhost.") {
			t.Errorf("asked for %q, a name inside the cluster", query)
		}
	}
}

func TestTheClusterDomainCanBeAnother(t *testing.T) {
	s := serve(t, "a.example.com. 5 CNAME db.shop.svc.k8s.corp.", "db.shop.svc.k8s.corp. 5 A 192.0.2.1",
		"b.example.com. 5 CNAME db.corp.", "db.corp. 5 A 192.0.2.1")
	r := New(Options{Nameservers: []netip.AddrPort{s.at}, Timeout: 10 * time.Second, ClusterDomain: "K8s.corp."})
	if got := look(t, r, "a.example.com").IPv4.Outcome; got != Denied {
		t.Errorf("alias into the cluster: %s, want Denied", got)
	}
	if got := look(t, r, "b.example.com").IPv4.Outcome; got != Resolved {
		t.Errorf("alias beside the cluster: %s, want Resolved", got)
	}
}

func TestAChainThatTheServerLeftOpenIsFollowed(t *testing.T) {
	s := serve(t, "one.example.com. 50 CNAME two.example.com.", "two.example.com. 40 CNAME end.example.com.", "end.example.com. 60 A 192.0.2.1")
	s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		reply := s.answer(query)
		reply.Ns = nil
		if len(reply.Answer) > 0 {
			reply.Answer = reply.Answer[:1]
		}
		w.WriteMsg(reply) //nolint:errcheck // As above.
		return true
	})
	got := look(t, resolver(s), "one.example.com")
	if diff := cmp.Diff(resolved(40, "192.0.2.1"), got.IPv4, plain); diff != "" {
		t.Errorf("IPv4 (-want +got):\n%s", diff)
	}
	if got.IPv6.Outcome != NXDomain {
		t.Errorf("IPv6 is %s, want NXDomain", got.IPv6.Outcome)
	}
}

func TestADomainAliasMovesWhatIsBelowIt(t *testing.T) {
	s := serve(t, "db.new.example.net. 60 A 192.0.2.1")
	dname := func(record string) {
		rr, err := dns.NewRR(record)
		if err != nil {
			t.Fatal(err)
		}
		s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
			reply := s.answer(query)
			if !strings.HasSuffix(query.Question[0].Name, "example.net.") {
				reply.Rcode, reply.Ns, reply.Answer = dns.RcodeSuccess, nil, []dns.RR{rr}
			}
			w.WriteMsg(reply) //nolint:errcheck // As above.
			return true
		})
	}
	dname("old.example.com. 20 DNAME new.example.net.")
	if diff := cmp.Diff(resolved(20, "192.0.2.1"), look(t, resolver(s), "db.old.example.com").IPv4, plain); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := look(t, resolver(s), "old.example.com").IPv4.Outcome; got != NXDomain {
		t.Errorf("the domain itself: %s, want NXDomain", got)
	}
	dname("example.com. 20 DNAME cluster.local.")
	if got := look(t, resolver(s), "db.example.com").IPv4.Outcome; got != Denied {
		t.Errorf("into the cluster: %s, want Denied", got)
	}
	dname("example.com. 20 DNAME " + strings.Repeat("a.", 120))
	if got := look(t, resolver(s), strings.Repeat("b.", 60)+"example.com").IPv4.Outcome; got != ServFail {
		t.Errorf("too long a name: %s, want ServFail", got)
	}
	dname(". 20 DNAME example.org.")
	if got := look(t, resolver(s), "db.example.com").IPv4.Outcome; got != NXDomain {
		t.Errorf("alias of the root: %s, want NXDomain", got)
	}
}

func TestServicesLeadToTheTargetsOfTheLowestPriority(t *testing.T) {
	s := serve(t,
		"_db._tcp.example.com. 100 SRV 10 5 5432 a.example.com.", "_db._tcp.example.com. 100 SRV 10 5 5433 b.example.com.",
		"_db._tcp.example.com. 100 SRV 20 5 5434 c.example.com.",
		"a.example.com. 60 A 192.0.2.1", "a.example.com. 80 AAAA 2001:db8::1", "b.example.com. 90 A 192.0.2.1", "c.example.com. 90 A 192.0.2.3",
		"_none._tcp.example.com. 100 SRV 0 0 0 .",
		"_zero._tcp.example.com. 100 SRV 0 0 0 a.example.com.",
		"_in._tcp.example.com. 100 SRV 0 0 80 db.shop.svc.cluster.local.",
		"_half._tcp.example.com. 100 SRV 0 0 80 db.shop.svc.cluster.local.", "_half._tcp.example.com. 100 SRV 0 0 80 c.example.com.",
		"_alias._tcp.example.com. 30 CNAME _db._tcp.example.com.",
		"_gone._tcp.example.com. 30 SRV 0 0 80 nowhere.example.com.",
		"_bad._tcp.example.com. 30 SRV 0 0 80 loop.example.com.", "loop.example.com. 30 CNAME loop.example.com.",
		"_some._tcp.example.com. 30 SRV 0 0 80 loop.example.com.", "_some._tcp.example.com. 30 SRV 0 0 80 c.example.com.",
	)
	partial := resolved(30, "192.0.2.3:80")
	partial.Partial = true
	for name, want := range map[string]struct{ four, six FamilyAnswer }{
		"_db._tcp.example.com":        {resolved(60, "192.0.2.1:5432", "192.0.2.1:5433"), resolved(80, "[2001:db8::1]:5432")},
		"_alias._tcp.example.com":     {resolved(30, "192.0.2.1:5432", "192.0.2.1:5433"), resolved(30, "[2001:db8::1]:5432")},
		"_none._tcp.example.com":      {failed(NXDomain, 100), failed(NXDomain, 100)},
		"_zero._tcp.example.com":      {failed(NXDomain, 100), failed(NXDomain, 100)},
		"_absent._tcp.example.com":    {failed(NXDomain, 90), failed(NXDomain, 90)},
		"_in._tcp.example.com":        {failed(Denied, 100), failed(Denied, 100)},
		"_half._tcp.example.com":      {resolved(90, "192.0.2.3:80"), failed(Denied, 100)},
		"_gone._tcp.example.com":      {failed(NXDomain, 30), failed(NXDomain, 30)},
		"_bad._tcp.example.com":       {failed(AliasLoop, 0), failed(AliasLoop, 0)},
		"_some._tcp.example.com":      {partial, failed(AliasLoop, 0)},
		"_x._tcp.shop.svc":            {failed(Denied, 0), failed(Denied, 0)},
		"_x._tcp.shop.svc.cluster.io": {failed(NXDomain, 0), failed(NXDomain, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			got := resolver(s).Lookup(context.Background(), name, networkingv1.RecordSRV)
			if denied := map[string]int{"_in._tcp.example.com": 1, "_half._tcp.example.com": 1}[name]; got.Denied != denied {
				t.Errorf("%d targets are left out since they lead into the cluster, want %d", got.Denied, denied)
			}
			if diff := cmp.Diff(want.four, got.IPv4, plain); diff != "" {
				t.Errorf("IPv4 (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.six, got.IPv6, plain); diff != "" {
				t.Errorf("IPv6 (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoMoreThanSixteenTargetsAreFollowed(t *testing.T) {
	s := serve(t)
	for i := range 40 {
		s.add(t, fmt.Sprintf("_db._tcp.example.com. 100 SRV 0 %d 80 t%d.example.com.", i, i), fmt.Sprintf("t%d.example.com. 60 A 192.0.2.%d", i, i))
	}
	answer := resolver(s).Lookup(context.Background(), "_db._tcp.example.com", networkingv1.RecordSRV)
	got := answer.IPv4
	if len(got.Addresses) != 16 || got.Partial || answer.Unused != 24 {
		t.Fatalf("%d addresses, partial %t, %d unused; want the 16 heaviest, and 24 unused", len(got.Addresses), got.Partial, answer.Unused)
	}
	if got.Addresses[0].IP.String() != "192.0.2.24" {
		t.Errorf("the lightest is %s, want that of weight 24", got.Addresses[0].IP)
	}
	if n := len(s.asked()); n > 40 {
		t.Errorf("%d questions", n)
	}
}

func TestAddressesInAnAdditionalSectionDoNotCount(t *testing.T) {
	s := serve(t, "_db._tcp.example.com. 100 SRV 0 0 80 a.example.com.", "a.example.com. 60 A 192.0.2.1")
	extra, err := dns.NewRR("a.example.com. 60 A 192.0.2.66")
	if err != nil {
		t.Fatal(err)
	}
	s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		reply := s.answer(query)
		reply.Extra = append(reply.Extra, extra)
		w.WriteMsg(reply) //nolint:errcheck // As above.
		return true
	})
	got := resolver(s).Lookup(context.Background(), "_db._tcp.example.com", networkingv1.RecordSRV).IPv4.Addresses
	if !slices.Equal(got, at("192.0.2.1:80")) {
		t.Errorf("got %v", got)
	}
}

// What a nameserver sends is parsed below goroutines, where a panic would end the process.
func TestAPanicBelowALookupIsAServersFailure(t *testing.T) {
	r := New(Options{Nameservers: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53")}, Dial: func(context.Context, string, netip.AddrPort) (net.Conn, error) {
		panic("a defect") //nolint:forbidigo // what it tests
	}})
	a := r.Lookup(t.Context(), "db.example.com", networkingv1.RecordAddress)
	if _, ok := errors.AsType[*panics.Error](a.Err); !ok || a.IPv4.Outcome != ServFail || a.IPv6.Outcome != ServFail {
		t.Errorf("%+v", a)
	}
}
