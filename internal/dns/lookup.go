// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// lookupAddresses looks up both families at the same time.
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

// recoverFamily is lookupFamily with a panic, as by an unexpected response, as the server's failure.
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

// ipOf returns the address of a record. An AAAA record must not have an IPv4-mapped address, nor could that be
// published.
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

// outcomeOf returns the outcome of an error.
func outcomeOf(err error) Outcome {
	switch {
	case errors.Is(err, errDenied):
		return Denied
	case errors.Is(err, errNoReply):
		return Timeout
	case errors.Is(err, errAliases):
		return AliasLoop
	case errors.Is(err, errTruncated):
		return Truncated
	default:
		return ServFail
	}
}

const (
	// MaxTargets limits the SRV records whose targets are looked up.
	MaxTargets = 16
	// targetsAtOnce limits how many of them are looked up at the same time.
	targetsAtOnce = 4
)

// service is the target of an SRV record.
type service struct {
	target string
	port   uint16
	weight uint16
}

// appendTo appends the addresses of a target, with its port.
func (s *service) appendTo(all []Address, part FamilyAnswer) []Address {
	for _, address := range part.Addresses {
		all = append(all, Address{IP: address.IP, Port: s.port})
	}
	return all
}

// lookupServices looks up SRV records, and then the addresses of their targets. A target in a domain of the cluster is
// left out; the answer is Denied if there is no other.
func (l *lookup) lookupServices(ctx context.Context, name string) Answer {
	f, err := l.resolveChain(ctx, name, dns.TypeSRV)
	if err != nil {
		return bothFamilies(outcomeOf(err), 0, err)
	}
	services, unused := preferred(f.records)
	if len(services) == 0 {
		a := bothFamilies(NXDomain, f.ttl, nil)
		a.NoService = !f.cut && saysNoService(f.records)
		return a
	}
	answers := l.lookupTargets(ctx, services)
	a := Answer{
		IPv4: l.merge(services, answers, f.ttl, func(a Answer) FamilyAnswer { return a.IPv4 }),
		IPv6: l.merge(services, answers, f.ttl, func(a Answer) FamilyAnswer { return a.IPv6 }),
	}
	a.Unused = unused
	a.IPv4.Partial = a.IPv4.Partial || f.cut
	a.IPv6.Partial = a.IPv6.Partial || f.cut
	errs := make([]error, 0, len(answers))
	for target, each := range answers {
		errs = append(errs, each.Err)
		switch {
		case each.Outcome() == Denied:
			a.Denied++
		case isLiteral(target):
			a.Literals++
		case each.Outcome() == NXDomain:
			a.Missing++
		}
	}
	a.Err = errors.Join(errs...)
	return a
}

// saysNoService reports whether the target of every SRV record is ".": there is no such service (RFC 2782).
func saysNoService(records []dns.RR) bool {
	return len(records) > 0 && !slices.ContainsFunc(records, func(record dns.RR) bool {
		r, ok := record.(*dns.SRV)
		return !ok || r.Target != "."
	})
}

// isLiteral reports whether a target is an IP address instead of a name.
func isLiteral(target string) bool {
	_, err := netip.ParseAddr(strings.TrimSuffix(target, "."))
	return err == nil
}

// preferred returns the targets of the lowest priority, those with the greatest weight first, and how many more than
// MaxTargets there are. A target of "." is no service, and port 0 is none.
func preferred(records []dns.RR) (services []service, unused int) {
	lowest := -1
	for _, record := range records {
		r, ok := record.(*dns.SRV)
		if !ok || r.Target == "." || r.Port == 0 {
			continue
		}
		if priority := int(r.Priority); lowest < 0 || priority < lowest {
			lowest, services = priority, nil
		}
		if int(r.Priority) == lowest {
			services = append(services, service{target: dns.CanonicalName(r.Target), port: r.Port, weight: r.Weight})
		}
	}
	slices.SortFunc(services, func(a, b service) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.target, b.target), cmp.Compare(a.port, b.port))
	})
	services = slices.Compact(services)
	used := min(len(services), MaxTargets)
	return services[:used], len(services) - used
}

// lookupTargets looks up the addresses of the targets, each name once.
func (l *lookup) lookupTargets(ctx context.Context, services []service) map[string]Answer {
	answers := map[string]Answer{}
	var names []string
	for _, s := range services {
		if _, ok := answers[s.target]; !ok {
			answers[s.target] = Answer{}
			names = append(names, s.target)
		}
	}
	results := make([]Answer, len(names))
	work := make(chan int, len(names))
	for i := range names {
		work <- i
	}
	close(work)
	var workers sync.WaitGroup
	for range min(targetsAtOnce, len(names)) {
		workers.Go(func() {
			for i := range work {
				results[i] = l.lookupTarget(ctx, names[i]) // which contains panics
			}
		})
	}
	workers.Wait()
	for i, name := range names {
		answers[name] = results[i]
	}
	return answers
}

// merge merges one family of all targets. If some targets have addresses, it keeps the last addresses of those that failed.
// Without any address, it returns the most specific failure.
func (l *lookup) merge(services []service, answers map[string]Answer, ttl time.Duration, family func(Answer) FamilyAnswer) FamilyAnswer {
	count := map[Outcome]int{}
	resolved, missing := FamilyAnswer{Outcome: Resolved, TTL: ttl}, ttl
	for _, s := range services {
		part := family(answers[s.target])
		count[part.Outcome]++
		switch part.Outcome {
		case Resolved:
			resolved.TTL = min(resolved.TTL, part.TTL)
			resolved.Partial = resolved.Partial || part.Partial
			resolved.Addresses = s.appendTo(resolved.Addresses, part)
		case NXDomain:
			missing = min(missing, part.TTL)
		case ServFail, Truncated, AliasLoop, Timeout:
			former, known := l.targets.last(s.target)
			resolved.Partial = resolved.Partial || !known
			resolved.Former = s.appendTo(resolved.Former, family(former))
		case Denied:
		}
	}
	failures := []Outcome{AliasLoop, Truncated, ServFail, Timeout} // the most specific first
	failed := slices.IndexFunc(failures, func(o Outcome) bool { return count[o] > 0 })
	switch {
	case count[Resolved] > 0:
		resolved.Addresses, resolved.Former = sorted(resolved.Addresses), sorted(resolved.Former)
		return resolved
	case failed >= 0:
		return FamilyAnswer{Outcome: failures[failed]}
	case count[Denied] > 0:
		return FamilyAnswer{Outcome: Denied, TTL: ttl}
	default:
		return FamilyAnswer{Outcome: NXDomain, TTL: missing}
	}
}
