// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"fmt"
	"time"

	"github.com/miekg/dns"
)

// Types of DNS records.
const (
	A     = "A"
	AAAA  = "AAAA"
	CNAME = "CNAME"
	SRV   = "SRV"
	// Every matches all types that have no reply of their own.
	Every = "ANY"
)

// DNSFault is a fault of an answer, or of the nameserver.
type DNSFault string

// Faults of answers.
const (
	// NoFault is a good answer.
	NoFault DNSFault = ""
	// ServFail, NXDomain and Refused are answers with that code.
	ServFail DNSFault = "ServFail"
	NXDomain DNSFault = "NXDomain"
	Refused  DNSFault = "Refused"
	// NoData is a good answer without records.
	NoData DNSFault = "NoData"
	// Silent never answers.
	Silent DNSFault = "Silent"
	// Truncated responds over UDP that the answer is too long, without records; TCP has them.
	Truncated DNSFault = "Truncated"
	// WrongID responds with another question's number.
	WrongID DNSFault = "WrongID"
	// WrongQuestion responds as if something else had been asked.
	WrongQuestion DNSFault = "WrongQuestion"
	// NotDNS responds with bytes that are no message.
	NotDNS DNSFault = "NotDNS"
)

// Reply is how questions for one name and type are answered.
type Reply struct {
	// Data of the records, as in a zone file: "192.0.2.1", "db.example.com.", "10 5 5432 db.example.com.".
	// None is NoData.
	Data []string
	// TTL is sent in seconds. The default is 0.
	TTL time.Duration
	// Fault is the fault of the reply. The default is nothing.
	Fault DNSFault
	// Delay before the answer. The default is none.
	Delay time.Duration
	// Window is how many records an answer holds; the next answer goes on where this one ended. The
	// default is all of them, in order.
	Window int
	// Bare leaves out what a CNAME points to, as a server does that is not recursive.
	Bare bool
}

// script is a sequence of replies; the last one stays.
type script struct {
	replies []prepared
	at      int // of the rotation
}

type prepared struct {
	Reply
	records []dns.RR
}

func prepare(name string, kind uint16, replies []Reply) (*script, error) {
	s := &script{}
	for _, r := range replies {
		p := prepared{Reply: r}
		for _, data := range r.Data {
			line := fmt.Sprintf("%s %d IN %s %s", dns.Fqdn(name), int(r.TTL.Seconds()), dns.TypeToString[kind], data)
			record, err := dns.NewRR(line)
			if err != nil {
				return nil, fmt.Errorf("record %q: %w", line, err)
			}
			p.records = append(p.records, record)
		}
		s.replies = append(s.replies, p)
	}
	return s, nil
}

// next takes one reply and the records that it holds this time.
func (s *script) next() (Reply, []dns.RR) {
	p := s.replies[0]
	if len(s.replies) > 1 {
		s.replies = s.replies[1:]
		return p.Reply, p.window(0)
	}
	records := p.window(s.at)
	if p.Window > 0 && len(p.records) > 0 {
		s.at = (s.at + p.Window) % len(p.records)
	}
	return p.Reply, records
}

func (p prepared) window(at int) []dns.RR {
	if p.Window <= 0 || p.Window >= len(p.records) {
		return p.records
	}
	records := make([]dns.RR, 0, p.Window)
	for i := range p.Window {
		records = append(records, p.records[(at+i)%len(p.records)])
	}
	return records
}
