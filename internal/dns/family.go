// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"github.com/miekg/dns"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// lookupAddresses looks up both families side by side.
func (l *lookup) lookupAddresses(ctx context.Context, name string) Answer {
	var a Answer
	var failed4, failed6 error
	var both sync.WaitGroup
	both.Go(func() { a.IPv4, failed4 = l.recoverFamily(ctx, name, dns.TypeA) })
	both.Go(func() { a.IPv6, failed6 = l.recoverFamily(ctx, name, dns.TypeAAAA) })
	both.Wait()
	a.Err = errors.Join(failed4, failed6)
	return a
}

// recoverFamily is family where a panic, as by a reply that nothing foresaw, is a server's failure.
func (l *lookup) recoverFamily(ctx context.Context, name string, kind uint16) (part FamilyAnswer, err error) {
	err = panics.Try("DNS lookup", func() (err error) {
		part, err = l.lookupFamily(ctx, name, kind)
		return err
	})
	if _, ok := errors.AsType[*panics.Error](err); ok {
		part = FamilyAnswer{Outcome: ServFail}
	}
	return part, err
}

// lookupFamily looks up one family.
func (l *lookup) lookupFamily(ctx context.Context, name string, kind uint16) (FamilyAnswer, error) {
	f, err := l.resolveChain(ctx, name, kind)
	if err != nil {
		return FamilyAnswer{Outcome: outcomeOf(err)}, err
	}
	if len(f.records) == 0 {
		return FamilyAnswer{Outcome: NXDomain, TTL: f.ttl, NoName: f.noName}, nil
	}
	p := FamilyAnswer{Outcome: Resolved, TTL: f.ttl, Partial: f.cut}
	for _, record := range f.records {
		if ip, ok := ipOf(record); ok {
			p.Addresses = append(p.Addresses, Address{IP: ip})
		}
	}
	if len(p.Addresses) == 0 {
		return FamilyAnswer{Outcome: ServFail, TTL: f.ttl}, errors.New("no address in the records is one of its family")
	}
	p.Addresses = sorted(p.Addresses)
	return p, nil
}

// ipOf reads an address. An IPv4 address dressed up as IPv6 is not one that an AAAA record may
// have, nor one that could be published.
func ipOf(record dns.RR) (netip.Addr, bool) {
	switch r := record.(type) {
	case *dns.A:
		ip, ok := netip.AddrFromSlice(r.A.To4())
		return ip, ok
	case *dns.AAAA:
		ip, ok := netip.AddrFromSlice(r.AAAA)
		return ip, ok && ip.Is6() && !ip.Is4In6()
	default:
		return netip.Addr{}, false
	}
}

// outcomeOf sorts what can go wrong.
func outcomeOf(err error) Outcome {
	switch {
	case errors.Is(err, errDenied):
		return Denied
	case errors.Is(err, errNoReply):
		return Timeout
	default:
		return ServFail
	}
}
