// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"testing"

	"github.com/miekg/dns"
)

// FuzzAnswer feeds arbitrary messages to all that reads them: nothing may break, leave the bounds,
// or lead into the cluster.
func FuzzAnswer(f *testing.F) {
	question := newQuestion("db.example.com.", dns.TypeA, true)
	for _, records := range [][]string{
		nil,
		{"db.example.com. 60 A 192.0.2.1"},
		{"db.example.com. 60 AAAA ::ffff:192.0.2.1"},
		{"db.example.com. 4294967295 A 192.0.2.1", "db.example.com. 0 A 192.0.2.2"},
		{"db.example.com. 60 CNAME a.example.com.", "a.example.com. 60 CNAME db.example.com."},
		{"db.example.com. 60 CNAME db.shop.svc.cluster.local.", "db.shop.svc.cluster.local. 60 A 192.0.2.1"},
		{"db.example.com. 60 CNAME ."},
		{"example.com. 60 DNAME cluster.local."},
		{". 60 DNAME example.org."},
		{"db.example.com. 60 DNAME db.example.com."},
		{"db.example.com. 60 SRV 0 0 80 .", "db.example.com. 60 SRV 0 0 80 svc."},
	} {
		message := new(dns.Msg).SetReply(question)
		for _, text := range records {
			record, err := dns.NewRR(text)
			if err != nil {
				f.Fatal(err)
			}
			message.Answer = append(message.Answer, record)
		}
		raw, err := message.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[:len(raw)-1])
	}
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x81\x80\x00\x01\xff\xff\xff\xff\xff\xff\x00\x00\x01\x00\x01\xc0\x0c"))
	r := New(Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) >= 2 {
			question.Id = uint16(raw[0])<<8 | uint16(raw[1])
		}
		reply, err := parse(raw, question)
		if err != nil {
			return
		}
		isLame(reply)
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV} {
			c := &chain{at: "db.example.com.", ttl: -1}
			found, err := c.follow(reply, kind, r.isInCluster)
			if r.isInCluster(c.at) {
				t.Errorf("followed into the cluster: %q", c.at)
			}
			if c.links > MaxAliases+1 || len(found.records) > maxRecords {
				t.Errorf("%d links, %d records", c.links, len(found.records))
			}
			if found.ttl < 0 && err == nil {
				t.Errorf("a TTL of %s", found.ttl)
			}
			for _, record := range found.records {
				if ip, ok := ipOf(record); ok && (ip.Is4() != (kind == dns.TypeA) || ip.Is4In6()) {
					t.Errorf("%s is not of its family", ip)
				}
			}
			if services, _ := preferred(found.records); len(services) > MaxTargets {
				t.Errorf("%d targets", len(services))
			}
			if ttl := negativeTTL(reply, c.at); ttl < -1 {
				t.Errorf("a negative TTL of %s", ttl)
			}
		}
	})
}
