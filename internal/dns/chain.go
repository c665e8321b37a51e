// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// MaxAliases limits the CNAME and DNAME records of a chain, and ends loops. Large CDNs have chains of nine; other
// resolvers follow eight (systemd) to sixteen (BIND).
const MaxAliases = 16

// errDenied is a name in a domain of the cluster.
var errDenied = errors.New("points into the cluster")

// errAliases is a chain that does not end.
var errAliases = fmt.Errorf("more than %d aliases, or a loop", MaxAliases)

// chainResult is the end of a chain: records of the queried type, or none.
type chainResult struct {
	records []dns.RR
	ttl     time.Duration
	// cut means that a nameserver could not send all records.
	cut bool
	// noName means that the response for the name or an alias was NXDOMAIN.
	noName bool
}

// chain follows the aliases of a name, over as many responses as it takes.
type chain struct {
	at    string
	links int
	// ttl is the shortest of the records so far, and negative before the first.
	ttl time.Duration
}

// resolveChain follows a name to its records of a type. No alias in a domain of the cluster is queried.
func (l *lookup) resolveChain(ctx context.Context, name string, kind uint16) (chainResult, error) {
	if l.isInCluster(name) {
		return chainResult{}, fmt.Errorf("%q %w", name, errDenied)
	}
	c := &chain{at: name, ttl: -1}
	for {
		reply, err := l.query(ctx, c.at, kind)
		if err != nil {
			return chainResult{}, err
		}
		before := c.links
		f, err := c.follow(reply, kind, l.isInCluster)
		if err != nil || len(f.records) > 0 {
			return f, err
		}
		if reply.Truncated && c.links == before {
			return chainResult{}, fmt.Errorf("%w, without a record that counts", errTruncated)
		}
		// A server may return an alias without what it points to.
		if c.links == before || reply.Rcode == dns.RcodeNameError || negativeTTL(reply, c.at) >= 0 {
			return chainResult{ttl: max(shorter(c.ttl, negativeTTL(reply, c.at)), 0), noName: reply.Rcode == dns.RcodeNameError}, nil
		}
	}
}

// follow follows the aliases in one response.
func (c *chain) follow(reply *dns.Msg, kind uint16, inside func(string) bool) (chainResult, error) {
	records := reply.Answer[:min(len(reply.Answer), maxRecords)]
	f := chainResult{cut: reply.Truncated}
	for {
		for _, record := range records {
			h := record.Header()
			if h.Rrtype == kind && h.Class == dns.ClassINET && sameName(h.Name, c.at) {
				f.records = append(f.records, record)
				c.ttl = shorter(c.ttl, ttlOf(h))
			}
		}
		if len(f.records) > 0 {
			f.ttl = c.ttl
			return f, nil
		}
		next, ttl, err := c.next(records)
		if err != nil || next == "" {
			return f, err
		}
		if inside(next) {
			return f, fmt.Errorf("alias %q %w", next, errDenied)
		}
		if c.links++; c.links > MaxAliases {
			return f, fmt.Errorf("%w, at %q", errAliases, next)
		}
		c.at, c.ttl = next, shorter(c.ttl, ttl)
	}
}

// next returns the target of the name's own alias, or of a DNAME above it, or "".
func (c *chain) next(records []dns.RR) (string, time.Duration, error) {
	next, h := c.alias(records)
	if h == nil {
		return "", 0, nil
	}
	if next = dns.CanonicalName(next); !wellFormed(next) {
		return "", 0, fmt.Errorf("the alias at %q leads to no domain name", h.Name)
	}
	return next, ttlOf(h), nil
}

// alias returns target and header of the record that applies.
func (c *chain) alias(records []dns.RR) (string, *dns.RR_Header) {
	for _, record := range records {
		if alias, ok := record.(*dns.CNAME); ok && alias.Hdr.Class == dns.ClassINET && sameName(alias.Hdr.Name, c.at) {
			return alias.Target, &alias.Hdr
		}
	}
	for _, record := range records {
		alias, ok := record.(*dns.DNAME)
		if !ok || alias.Hdr.Class != dns.ClassINET || !dns.IsSubDomain(alias.Hdr.Name, c.at) {
			continue
		}
		labels, own := dns.Split(c.at), dns.CountLabel(alias.Hdr.Name)
		if own == 0 || own >= len(labels) {
			continue
		}
		return c.at[:labels[len(labels)-own]] + strings.TrimPrefix(alias.Target, "."), &alias.Hdr
	}
	return "", nil
}

// negativeTTL returns for how long a name has no such record (RFC 2308), or a negative time if the response does not
// say.
func negativeTTL(reply *dns.Msg, name string) time.Duration {
	for _, record := range reply.Ns {
		if soa, ok := record.(*dns.SOA); ok && dns.IsSubDomain(soa.Hdr.Name, name) {
			return min(ttlOf(&soa.Hdr), seconds(soa.Minttl))
		}
	}
	return -1
}

// shorter returns the shorter of two times. Negative ones are unknown.
func shorter(a, b time.Duration) time.Duration {
	if a < 0 || (b >= 0 && b < a) {
		return b
	}
	return a
}

func ttlOf(h *dns.RR_Header) time.Duration { return seconds(h.Ttl) }

// seconds returns a TTL; one with the highest bit set is 0 (RFC 2181, section 8).
func seconds(ttl uint32) time.Duration {
	if ttl > 1<<31-1 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

// clusterDomains returns the domains that no name may be in: those of the cluster's own nameserver, and that of the
// host. svc is one of them, since a search list elsewhere would complete it.
func clusterDomains(cluster string) []string {
	domains := []string{"svc.", "localhost."}
	if cluster = dns.CanonicalName(strings.Trim(cluster, ".")); cluster != "." {
		domains = append(domains, cluster)
	}
	return domains
}

// isInCluster reports whether a fully qualified name is in a domain of the cluster.
func (r *Resolver) isInCluster(name string) bool {
	for _, domain := range r.domains {
		if dns.IsSubDomain(domain, name) {
			return true
		}
	}
	return false
}
