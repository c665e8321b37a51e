// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

func TestAnAnswerThatDoesNotFitIsAskedForByTCP(t *testing.T) {
	s := serve(t)
	for i := range 200 {
		s.add(t, fmt.Sprintf("big.example.com. 60 A 198.51.100.%d", i))
	}
	s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		reply := s.answer(query)
		if !overTCP(w) {
			opt := query.IsEdns0()
			if opt == nil || opt.UDPSize() != 1232 {
				t.Errorf("EDNS0 is %v, want a size of 1232", opt)
				return false
			}
			reply.Truncate(int(opt.UDPSize()))
		}
		w.WriteMsg(reply) //nolint:errcheck // A client that is gone is not the test's matter.
		return true
	})
	got := look(t, resolver(s), "big.example.com")
	if got.IPv4.Outcome != Resolved || len(got.IPv4.Addresses) != 200 || s.tcp != 1 {
		t.Errorf("%s with %d addresses after %d questions by TCP, want all 200 after 1", got.IPv4.Outcome, len(got.IPv4.Addresses), s.tcp)
	}
}

func TestADatagramLargerThanAllowedIsAskedForByTCP(t *testing.T) {
	s := serve(t)
	for i := range 400 {
		s.add(t, fmt.Sprintf("big.example.com. 60 A 198.51.%d.%d", i/200, i%200))
	}
	got := look(t, resolver(s), "big.example.com")
	if got.IPv4.Outcome != Resolved || len(got.IPv4.Addresses) != 400 || s.tcp != 1 {
		t.Errorf("%s with %d addresses after %d questions by TCP, want all 400 after 1", got.IPv4.Outcome, len(got.IPv4.Addresses), s.tcp)
	}
}

func TestAHugeAnswerIsCut(t *testing.T) {
	s := serve(t)
	for i := range 1500 {
		s.add(t, fmt.Sprintf("big.example.com. 60 A 198.18.%d.%d", i/200, i%200))
	}
	got := look(t, resolver(s), "big.example.com").IPv4
	if len(got.Addresses) != 1000 || got.Partial {
		t.Errorf("%d addresses, partial %t; want 1000", len(got.Addresses), got.Partial)
	}
}

// As behind a firewall that lets pass UDP alone.
func TestOfATruncatedAnswerThatTCPCannotCompleteWhatArrivedIsUsed(t *testing.T) {
	s := serve(t, "db.example.com. 60 A 192.0.2.1")
	r := told(s)
	for name, handle := range map[string]func(w dns.ResponseWriter, query *dns.Msg) bool{
		"silent": func(w dns.ResponseWriter, q *dns.Msg) bool { return overTCP(w) && mute(w, q) },
		"closed": func(w dns.ResponseWriter, _ *dns.Msg) bool { return overTCP(w) && w.Close() == nil },
		"short":  func(w dns.ResponseWriter, q *dns.Msg) bool { return overTCP(w) && answerRaw(w, []byte{0, 1}) },
		"other": func(w dns.ResponseWriter, q *dns.Msg) bool {
			other := s.answer(q)
			other.Id++
			return overTCP(w) && w.WriteMsg(other) == nil
		},
	} {
		s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
			if handle(w, query) {
				return true
			}
			reply := s.answer(query)
			reply.Truncated = true
			w.WriteMsg(reply) //nolint:errcheck // As above.
			return true
		})
		if got := look(t, r, "db.example.com").IPv4; got.Outcome != Resolved || !got.Partial || len(got.Addresses) != 1 {
			t.Errorf("%s: %+v, want the one address, partial", name, got)
		}
		if got := look(t, r, "none.example.com"); got.Outcome() != Truncated {
			t.Errorf("%s: without an address %s, want Truncated", name, got.Outcome())
		}
	}
}

func answerRaw(w dns.ResponseWriter, raw []byte) bool {
	_, err := w.Write(raw)
	return err == nil
}

// sendBefore has the server send something before its answer, and says what came out.
func sendBefore(t *testing.T, with func(...*nameserver) *Resolver, forge func(query *dns.Msg) []byte, silent bool) Answer {
	t.Helper()
	s := serve(t, "db.example.com. 60 A 192.0.2.1", "db.example.com. 60 AAAA 2001:db8::1")
	s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		w.Write(forge(query)) //nolint:errcheck // As above.
		return silent
	})
	return look(t, with(s), "db.example.com")
}

// forgeries are messages that do not answer the question, all with an address to fall for.
var forgeries = map[string]func(query *dns.Msg) *dns.Msg{
	"another ID":       func(q *dns.Msg) *dns.Msg { m := forged(q); m.Id++; return m },
	"another name":     func(q *dns.Msg) *dns.Msg { m := forged(q); m.Question[0].Name = "x.example.com."; return m },
	"another type":     func(q *dns.Msg) *dns.Msg { m := forged(q); m.Question[0].Qtype = dns.TypeMX; return m },
	"another class":    func(q *dns.Msg) *dns.Msg { m := forged(q); m.Question[0].Qclass = dns.ClassCHAOS; return m },
	"another opcode":   func(q *dns.Msg) *dns.Msg { m := forged(q); m.Opcode = dns.OpcodeNotify; return m },
	"no answer":        func(q *dns.Msg) *dns.Msg { m := forged(q); m.Response = false; return m },
	"no question":      func(q *dns.Msg) *dns.Msg { m := forged(q); m.Question = nil; return m },
	"a bare NXDOMAIN":  func(q *dns.Msg) *dns.Msg { return &dns.Msg{MsgHdr: dns.MsgHdr{Id: q.Id, Response: true, Rcode: 3}} },
	"two questions":    func(q *dns.Msg) *dns.Msg { m := forged(q); m.Question = append(m.Question, m.Question[0]); return m },
	"nothing but a ID": func(q *dns.Msg) *dns.Msg { return &dns.Msg{MsgHdr: dns.MsgHdr{Id: q.Id}} },
}

func forged(query *dns.Msg) *dns.Msg {
	m := new(dns.Msg).SetReply(query)
	m.Answer = []dns.RR{&dns.A{
		Hdr: dns.RR_Header{Name: query.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60},
		A:   net.IPv4(192, 0, 2, 66),
	}}
	return m
}

func TestForgedAnswersArePassedOver(t *testing.T) {
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := func(query *dns.Msg) []byte {
				out, err := forge(query).Pack()
				if err != nil {
					t.Error(err)
				}
				return out
			}
			if diff := cmp.Diff(resolved(60, "192.0.2.1"), sendBefore(t, resolver, raw, false).IPv4, plain); diff != "" {
				t.Errorf("with the true answer after it (-want +got):\n%s", diff)
			}
			if got := sendBefore(t, hasty, raw, true).IPv4.Outcome; got != Timeout {
				t.Errorf("with nothing after it: %s, want Timeout", got)
			}
		})
	}
}

func TestGarbageIsAFailureOfTheServer(t *testing.T) {
	for name, garble := range map[string]func(q *dns.Msg, out []byte) []byte{
		"cut short": func(_ *dns.Msg, out []byte) []byte { return out[:len(out)-3] },
		"more records promised": func(_ *dns.Msg, out []byte) []byte {
			out[7] = 9
			return out
		},
		"a header only, with a code": func(q *dns.Msg, _ []byte) []byte {
			return []byte{byte(q.Id >> 8), byte(q.Id), 0x80, 2, 0, 0, 0, 0, 0, 0, 0, 0}
		},
	} {
		t.Run(name, func(t *testing.T) {
			raw := func(query *dns.Msg) []byte {
				out, err := forged(query).Pack()
				if err != nil {
					t.Error(err)
				}
				return garble(query, out)
			}
			if got := sendBefore(t, resolver, raw, true).IPv4.Outcome; got != ServFail {
				t.Errorf("%s, want ServFail", got)
			}
		})
	}
}

func TestTheNameOfTheQuestionMayComeBackInAnyCase(t *testing.T) {
	s := serve(t, "db.example.com. 60 A 192.0.2.1")
	s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		reply := s.answer(query)
		reply.Question[0].Name = "DB.Example.com."
		for i, record := range reply.Answer {
			reply.Answer[i] = dns.Copy(record)
			reply.Answer[i].Header().Name = "db.EXAMPLE.com."
		}
		w.WriteMsg(reply) //nolint:errcheck // As above.
		return true
	})
	if got := look(t, resolver(s), "db.example.com").IPv4.Outcome; got != Resolved {
		t.Errorf("%s, want Resolved", got)
	}
}

// rcode responds to every question with a code.
func rcode(code int) func(dns.ResponseWriter, *dns.Msg) bool {
	return func(w dns.ResponseWriter, query *dns.Msg) bool {
		return w.WriteMsg(new(dns.Msg).SetRcode(query, code)) == nil
	}
}

func TestTheNextServerIsAskedWhenOneFails(t *testing.T) {
	referral := func(w dns.ResponseWriter, query *dns.Msg) bool {
		reply := new(dns.Msg).SetReply(query)
		reply.Ns = []dns.RR{&dns.NS{Hdr: dns.RR_Header{Name: "com.", Rrtype: dns.TypeNS, Class: dns.ClassINET}, Ns: "ns.example.net."}}
		return w.WriteMsg(reply) == nil
	}
	for name, bad := range map[string]func(dns.ResponseWriter, *dns.Msg) bool{
		"SERVFAIL": rcode(dns.RcodeServerFailure), "REFUSED": rcode(dns.RcodeRefused), "referral": referral, "silence": mute,
	} {
		t.Run(name, func(t *testing.T) {
			first, second := serve(t), serve(t, "db.example.com. 60 A 192.0.2.1")
			first.with(bad)
			if got := look(t, told(first, second), "db.example.com").IPv4.Outcome; got != Resolved {
				t.Errorf("with a good second server: %s, want Resolved", got)
			}
			want := ServFail
			if name == "silence" {
				want = Timeout
			}
			alone := serve(t).with(bad)
			if got := look(t, told(alone), "db.example.com").IPv4; got.Outcome != want {
				t.Errorf("alone: %s, want %s", got.Outcome, want)
			}
			if n := len(alone.asked()); n != 4 {
				t.Errorf("alone it was asked %d times, want twice for each family", n)
			}
		})
	}
}

func TestServFailSaysThatSomeoneAnswered(t *testing.T) {
	first, second := serve(t).with(rcode(dns.RcodeServerFailure)), serve(t).with(mute)
	if got := look(t, told(first, second), "db.example.com").IPv4.Outcome; got != ServFail {
		t.Errorf("%s, want ServFail", got)
	}
}

// A code of -1 is a firewall that drops such queries.
func TestAServerWithoutEDNSIsAskedWithoutIt(t *testing.T) {
	for _, code := range []int{dns.RcodeFormatError, dns.RcodeNotImplemented, dns.RcodeBadVers, dns.RcodeServerFailure, dns.RcodeRefused, -1} {
		s := serve(t, "db.example.com. 60 A 192.0.2.1")
		s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
			switch {
			case query.IsEdns0() == nil:
				return false
			case code < 0:
				return true
			}
			bare := new(dns.Msg).SetRcode(query, code)
			bare.Question = nil
			return w.WriteMsg(bare) == nil
		})
		if got := look(t, resolver(s), "db.example.com").IPv4.Outcome; got != Resolved {
			t.Errorf("code %d: %s, want Resolved", code, got)
		}
	}
}

func TestAFamilyFailsAlone(t *testing.T) {
	s := serve(t, "db.example.com. 60 A 192.0.2.1", "db.example.com. 60 AAAA 2001:db8::1")
	for want, bad := range map[Outcome]func(dns.ResponseWriter, *dns.Msg) bool{ServFail: rcode(dns.RcodeServerFailure), Timeout: mute} {
		s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
			return query.Question[0].Qtype == dns.TypeAAAA && bad(w, query)
		})
		got := look(t, told(s), "db.example.com")
		if got.IPv4.Outcome != Resolved || got.IPv6.Outcome != want || got.Outcome() != Resolved {
			t.Errorf("IPv4 %s, IPv6 %s, together %s; want Resolved, %s, Resolved", got.IPv4.Outcome, got.IPv6.Outcome, got.Outcome(), want)
		}
	}
}

func TestALookupEndsWithItsTimeAndItsContext(t *testing.T) {
	s := serve(t).with(mute)
	r := New(Options{Nameservers: []netip.AddrPort{s.at}, Timeout: time.Hour, Total: 30 * time.Millisecond})
	if got := look(t, r, "db.example.com").IPv4.Outcome; got != Timeout {
		t.Errorf("%s, want Timeout", got)
	}
	r = New(Options{Nameservers: []netip.AddrPort{s.at}, Timeout: time.Hour, Total: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	got := r.Lookup(ctx, "db.example.com", "")
	if got.IPv4.Outcome != Timeout || got.Err == nil {
		t.Errorf("%s (%v), want Timeout with the detail", got.IPv4.Outcome, got.Err)
	}
}

func TestAFloodEndsALookup(t *testing.T) {
	s := serve(t)
	s.with(func(w dns.ResponseWriter, query *dns.Msg) bool {
		noise := make([]byte, 4000)
		for range 1000 {
			if !answerRaw(w, noise) {
				break
			}
		}
		return true
	})
	l := &lookup{Resolver: told(s)}
	l.bytesLeft.Store(10_000)
	if _, err := l.query(context.Background(), "db.example.com.", dns.TypeA); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v, want %v", err, errTooLarge)
	}
}

func TestReachableIsAnyAnswerAtAll(t *testing.T) {
	refuses, silent := serve(t).with(rcode(dns.RcodeRefused)), serve(t).with(mute)
	if !told(silent, refuses).Reachable(context.Background()) {
		t.Error("a server that refuses is there")
	}
	if told(silent).Reachable(context.Background()) {
		t.Error("a server that says nothing is not there")
	}
	if got := refuses.asked(); len(got) == 0 || got[0] != "NS ." {
		t.Errorf("asked %v, want the servers of the root", got)
	}
}

func TestNoServerListensIsATimeout(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	got := New(Options{Nameservers: []netip.AddrPort{gone}, Timeout: 50 * time.Millisecond}).Lookup(context.Background(), "db.example.com", "")
	if got.IPv4.Outcome != Timeout || !strings.Contains(got.Err.Error(), "db.example.com") {
		t.Errorf("%s (%v), want Timeout with the name", got.IPv4.Outcome, got.Err)
	}
}
