// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// chain bounds how many CNAMEs are followed in one answer.
const chain = 16

// zone holds the records of the nameserver.
type zone struct {
	mu      sync.Mutex // guards what follows
	scripts map[string]map[uint16]*script
	fault   DNSFault
}

// Reply sets how questions for a name and type are answered from now on: by each reply once, in
// order, and by the last one again and again. Without a reply the type is forgotten. A name that
// nothing is known of does not exist; a type of a known name has no data.
func (z *zone) Reply(name, kind string, replies ...Reply) error {
	code, known := dns.StringToType[kind]
	if !known {
		return fmt.Errorf("reply for %s: type %q is none of DNS", name, kind)
	}
	s, err := prepare(name, code, replies)
	if err != nil {
		return err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	name = dns.CanonicalName(name)
	if len(replies) == 0 {
		delete(z.scripts[name], code)
		if len(z.scripts[name]) == 0 {
			delete(z.scripts, name)
		}
		return nil
	}
	if z.scripts[name] == nil {
		z.scripts[name] = map[uint16]*script{}
	}
	z.scripts[name][code] = s
	return nil
}

// Addresses replaces everything that is known of a name by addresses of either family.
func (z *zone) Addresses(name string, ttl time.Duration, addresses ...string) error {
	byType := map[string][]string{A: nil, AAAA: nil}
	for _, address := range addresses {
		ip, err := netip.ParseAddr(address)
		if err != nil {
			return fmt.Errorf("addresses of %s: %w", name, err)
		}
		if ip.Is4() {
			byType[A] = append(byType[A], address)
		} else {
			byType[AAAA] = append(byType[AAAA], address)
		}
	}
	z.Forget(name)
	for kind, data := range byType {
		if err := z.Reply(name, kind, Reply{Data: data, TTL: ttl}); err != nil {
			return err
		}
	}
	return nil
}

// Fail gives every type of a name the same fault, in place of all that is known of it.
func (z *zone) Fail(name string, fault DNSFault) error {
	z.Forget(name)
	return z.Reply(name, Every, Reply{Fault: fault})
}

// Forget removes a name, which then does not exist.
func (z *zone) Forget(name string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.scripts, dns.CanonicalName(name))
}

// FailAll gives every answer of the nameserver a fault, until it is NoFault again. Nothing of the
// zone is lost, and no reply is used up, meanwhile.
func (z *zone) FailAll(fault DNSFault) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.fault = fault
}

// answer is the reply to a question, with the records of the whole chain.
func (z *zone) answer(name string, kind uint16) (reply Reply, records []dns.RR) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.fault != NoFault {
		return Reply{Fault: z.fault}, nil
	}
	var delay time.Duration
	for range chain {
		name = strings.ToLower(dns.Fqdn(name))
		scripts, exists := z.scripts[name]
		if !exists {
			return Reply{Fault: NXDomain, Delay: delay}, records
		}
		of := scripts[kind]
		alias := of == nil && scripts[dns.TypeCNAME] != nil
		if alias {
			of = scripts[dns.TypeCNAME]
		}
		if of == nil {
			of = scripts[dns.TypeANY]
		}
		if of == nil {
			return Reply{Delay: delay}, records
		}
		next, more := of.next()
		delay += next.Delay
		next.Delay = delay
		records = append(records, more...)
		if !alias || next.Bare || next.Fault != NoFault || len(more) == 0 {
			return next, records
		}
		cname, ok := more[0].(*dns.CNAME)
		if !ok {
			return next, records
		}
		name = cname.Target
	}
	return Reply{Fault: ServFail, Delay: delay}, nil
}
