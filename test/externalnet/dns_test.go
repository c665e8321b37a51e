// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

// asked is the response that a client gets for one question.
type asked struct {
	Code      string
	Records   []string
	Truncated bool
}

// ask sends one question and returns what came, with the TTL in front of each record's data.
func ask(t *testing.T, d *DNS, transport, name, kind string, within time.Duration) (asked, error) {
	t.Helper()
	m := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.StringToType[kind])
	c := &dns.Client{Net: transport, Timeout: within}
	answer, _, err := c.ExchangeContext(t.Context(), m, d.Addr().String())
	if err != nil {
		return asked{}, err
	}
	got := asked{Code: dns.RcodeToString[answer.Rcode], Truncated: answer.Truncated}
	for _, record := range answer.Answer {
		fields := strings.Fields(record.String())
		got.Records = append(got.Records, fields[1]+" "+strings.Join(fields[3:], " "))
	}
	return got, nil
}

// answers wants the same answer over UDP and TCP.
func answers(t *testing.T, d *DNS, name, kind string, want asked) {
	t.Helper()
	for _, transport := range []string{"udp", "tcp"} {
		got, err := ask(t, d, transport, name, kind, patience)
		if err != nil {
			t.Errorf("%s %s over %s: %v", name, kind, transport, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s over %s (-want +got):\n%s", name, kind, transport, diff)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheZoneAnswersWhatItWasTold(t *testing.T) {
	d := newWorld(t).DNS
	must(t, d.Addresses("db.example.com", 30*time.Second, "192.0.2.1", "192.0.2.2", "2001:db8::1"))
	must(t, d.Addresses("four.example.com", time.Second, "192.0.2.4"))
	must(t, d.Reply("alias.example.com", CNAME, Reply{Data: []string{"next.example.com."}, TTL: 5 * time.Second}))
	must(t, d.Reply("next.example.com", CNAME, Reply{Data: []string{"db.example.com."}, TTL: 6 * time.Second}))
	must(t, d.Reply("bare.example.com", CNAME, Reply{Data: []string{"db.example.com."}, Bare: true}))
	must(t, d.Reply("dangling.example.com", CNAME, Reply{Data: []string{"gone.example.com."}}))
	must(t, d.Reply("loop.example.com", CNAME, Reply{Data: []string{"loop.example.com."}}))
	must(t, d.Reply("_sql._tcp.example.com", SRV, Reply{Data: []string{"10 5 5432 db.example.com."}, TTL: 7 * time.Second}))

	answers(t, d, "DB.example.com", A, asked{Code: "NOERROR", Records: []string{"30 A 192.0.2.1", "30 A 192.0.2.2"}})
	answers(t, d, "db.example.com", AAAA, asked{Code: "NOERROR", Records: []string{"30 AAAA 2001:db8::1"}})
	answers(t, d, "four.example.com", AAAA, asked{Code: "NOERROR"})
	answers(t, d, "alias.example.com", A, asked{Code: "NOERROR", Records: []string{
		"5 CNAME next.example.com.", "6 CNAME db.example.com.", "30 A 192.0.2.1", "30 A 192.0.2.2"}})
	answers(t, d, "bare.example.com", A, asked{Code: "NOERROR", Records: []string{"0 CNAME db.example.com."}})
	answers(t, d, "dangling.example.com", A, asked{Code: "NXDOMAIN", Records: []string{"0 CNAME gone.example.com."}})
	answers(t, d, "loop.example.com", A, asked{Code: "SERVFAIL"})
	answers(t, d, "_sql._tcp.example.com", SRV, asked{Code: "NOERROR", Records: []string{"7 SRV 10 5 5432 db.example.com."}})
	answers(t, d, "absent.example.com", A, asked{Code: "NXDOMAIN"})

	d.Forget("db.example.com")
	answers(t, d, "db.example.com", A, asked{Code: "NXDOMAIN"})
	if err := d.Reply("db.example.com", A, Reply{Data: []string{"no address"}}); err == nil {
		t.Error("a record that is none is taken")
	}
	if err := d.Reply("db.example.com", "B"); err == nil {
		t.Error("a type that is none is taken")
	}
}

func TestFaultsOfAnswersAreWhatAClientSees(t *testing.T) {
	d := newWorld(t).DNS
	good := asked{Code: "NOERROR", Records: []string{"0 A 192.0.2.1"}}
	for fault, want := range map[DNSFault]asked{
		NoFault:  good,
		ServFail: {Code: "SERVFAIL"},
		NXDomain: {Code: "NXDOMAIN", Records: good.Records},
		Refused:  {Code: "REFUSED"},
		NoData:   {Code: "NOERROR"},
	} {
		must(t, d.Reply("db.example.com", A, Reply{Data: []string{"192.0.2.1"}, Fault: fault}))
		answers(t, d, "db.example.com", A, want)
	}
	for fault, failure := range map[DNSFault]func(error) bool{
		Silent:  timedOut,
		WrongID: func(err error) bool { return errors.Is(err, dns.ErrId) || timedOut(err) },
		NotDNS:  func(err error) bool { return err != nil },
	} {
		must(t, d.Fail("db.example.com", fault))
		for _, transport := range []string{"udp", "tcp"} {
			if got, err := ask(t, d, transport, "db.example.com", A, moment); err == nil || !failure(err) {
				t.Errorf("%s over %s: %v %v", fault, transport, got, err)
			}
		}
	}
	must(t, d.Reply("db.example.com", A, Reply{Data: []string{"192.0.2.1"}, Fault: Truncated}))
	if got, err := ask(t, d, "udp", "db.example.com", A, patience); err != nil || !got.Truncated || len(got.Records) != 0 {
		t.Errorf("truncated over UDP: %+v, %v", got, err)
	}
	if got, err := ask(t, d, "tcp", "db.example.com", A, patience); err != nil || got.Truncated || len(got.Records) != 1 {
		t.Errorf("truncated over TCP: %+v, %v", got, err)
	}
	must(t, d.Reply("db.example.com", A, Reply{Data: []string{"192.0.2.1"}, Delay: time.Minute}))
	if _, err := ask(t, d, "udp", "db.example.com", A, moment); !timedOut(err) {
		t.Errorf("a delay: %v", err)
	}
}

func TestAnAnswerToAnotherQuestionSaysSo(t *testing.T) {
	d := newWorld(t).DNS
	must(t, d.Reply("db.example.com", A, Reply{Data: []string{"192.0.2.1"}, Fault: WrongQuestion}))
	c, err := net.Dial("udp4", d.Addr().String())
	must(t, err)
	defer func() { _ = c.Close() }()
	must(t, c.SetDeadline(time.Now().Add(patience)))
	raw, err := new(dns.Msg).SetQuestion("db.example.com.", dns.TypeA).Pack()
	must(t, err)
	_, err = c.Write(raw)
	must(t, err)
	buffer := make([]byte, 512)
	n, err := c.Read(buffer)
	must(t, err)
	var answer dns.Msg
	must(t, answer.Unpack(buffer[:n]))
	if name := answer.Question[0].Name; name != "other.invalid." {
		t.Errorf("the answer is about %s", name)
	}
}

func TestAnAnswerTooLongForUDPIsTruncatedUnlessTheClientTakesMore(t *testing.T) {
	d := newWorld(t).DNS
	var addresses []string
	for i := range 100 {
		addresses = append(addresses, fmt.Sprintf("198.18.0.%d", i))
	}
	must(t, d.Addresses("db.example.com", 0, addresses...))
	if got, err := ask(t, d, "udp", "db.example.com", A, patience); err != nil || !got.Truncated {
		t.Errorf("over UDP: truncated %v, %v", got.Truncated, err)
	}
	if got, err := ask(t, d, "tcp", "db.example.com", A, patience); err != nil || got.Truncated || len(got.Records) != 100 {
		t.Errorf("over TCP: %d records, %v", len(got.Records), err)
	}
	m := new(dns.Msg).SetQuestion("db.example.com.", dns.TypeA).SetEdns0(4096, false)
	answer, _, err := new(dns.Client).ExchangeContext(t.Context(), m, d.Addr().String())
	if err != nil || answer.Truncated || len(answer.Answer) != 100 {
		t.Errorf("with EDNS: %v", err)
	}
}

func TestRepliesFollowOneAnotherAndPoolsRotate(t *testing.T) {
	d := newWorld(t).DNS
	told := func(name string) string {
		got, err := ask(t, d, "udp", name, A, patience)
		must(t, err)
		return got.Code + " " + strings.Join(got.Records, ", ")
	}
	must(t, d.Reply("rebinds.example.com", A,
		Reply{Data: []string{"192.0.2.1"}}, Reply{Fault: ServFail}, Reply{Data: []string{"169.254.169.254"}}))
	var got []string
	for range 4 {
		got = append(got, told("rebinds.example.com"))
	}
	want := []string{"NOERROR 0 A 192.0.2.1", "SERVFAIL ", "NOERROR 0 A 169.254.169.254", "NOERROR 0 A 169.254.169.254"}
	if !slices.Equal(got, want) {
		t.Errorf("one after the other: %q", got)
	}

	must(t, d.Reply("pool.example.com", A, Reply{Data: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, Window: 2}))
	got = nil
	for range 3 {
		got = append(got, strings.ReplaceAll(told("pool.example.com"), "0 A 192.0.2.", ""))
	}
	if want := []string{"NOERROR 1, 2", "NOERROR 3, 1", "NOERROR 2, 3"}; !slices.Equal(got, want) {
		t.Errorf("rotation: %q", got)
	}
}

func TestTheWholeNameserverFailsAndRecovers(t *testing.T) {
	d := newWorld(t).DNS
	must(t, d.Addresses("db.example.com", 0, "192.0.2.1"))
	good := asked{Code: "NOERROR", Records: []string{"0 A 192.0.2.1"}}
	d.FailAll(ServFail)
	answers(t, d, "db.example.com", A, asked{Code: "SERVFAIL"})
	d.FailAll(Silent)
	if _, err := ask(t, d, "udp", "db.example.com", A, moment); !timedOut(err) {
		t.Errorf("silent: %v", err)
	}
	d.FailAll(NoFault)
	answers(t, d, "db.example.com", A, good)

	addr := d.Addr()
	must(t, d.Down())
	for _, transport := range []string{"udp", "tcp"} {
		if _, err := ask(t, d, transport, "db.example.com", A, patience); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("down, over %s: %v", transport, err)
		}
	}
	must(t, d.Up())
	if d.Addr() != addr {
		t.Errorf("it came back at %s instead of %s", d.Addr(), addr)
	}
	answers(t, d, "db.example.com", A, good)
}

func TestQueriesAreCountedAndTold(t *testing.T) {
	d := newWorld(t).DNS
	must(t, d.Addresses("db.example.com", 0, "192.0.2.1"))
	d.OnQuery(func(q Query) {
		if q.Name == "db.example.com" && q.Type == A && d.Count(q.Name, A, "") == 2 {
			_ = d.Addresses("db.example.com", 0, "192.0.2.2")
		}
	})
	for _, transport := range []string{"udp", "tcp"} {
		for _, kind := range []string{A, AAAA} {
			_, err := ask(t, d, transport, "Db.example.com", kind, patience)
			must(t, err)
		}
	}
	got := []int{d.Total(), d.Count("db.example.com", "", ""), d.Count("DB.example.com.", A, ""), d.Count("db.example.com", A, "tcp"), d.Count("db.example.com", "", "udp"), d.Count("other", "", "")}
	if want := []int{4, 4, 2, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
	if queries := d.Queries(); len(queries) != 4 || queries[0].Name != "db.example.com" || queries[0].Time.IsZero() {
		t.Errorf("queries: %+v", queries)
	}
	answers(t, d, "db.example.com", A, asked{Code: "NOERROR", Records: []string{"0 A 192.0.2.2"}})
}
