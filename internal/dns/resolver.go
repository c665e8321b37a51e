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
	"time"

	"github.com/miekg/dns"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

const (
	// attempts is how often every nameserver is queried, in turn with the others.
	attempts = 2
	// maxServers limits the nameservers that are queried.
	maxServers = 8
	// maxBytes limits what one Lookup reads.
	maxBytes = 1 << 20
	// maxRecords limits the records of a response that are read.
	maxRecords = 1000
)

// Options of a Resolver.
type Options struct {
	// Nameservers are queried in turn, the first 8 of them. Defaults to those of ResolvConf, which is read again when
	// it has changed.
	Nameservers []netip.AddrPort
	// ResolvConf is a resolv.conf(5) file. Only its nameservers count. Defaults to /etc/resolv.conf.
	ResolvConf string
	// Timeout of one query of one nameserver. Defaults to 2s.
	Timeout time.Duration
	// Total bounds a Lookup with all its queries. Defaults to 15s.
	Total time.Duration
	// ClusterDomain is the DNS domain of the cluster, which no name may be in. Defaults to cluster.local.
	ClusterDomain string
	// Dial connects to a nameserver; network is udp or tcp. Defaults to a net.Dialer.
	Dial func(ctx context.Context, network string, server netip.AddrPort) (net.Conn, error)
	// Now returns the time. Defaults to time.Now.
	Now func() time.Time
}

// Resolver looks up names. It is safe for concurrent use.
type Resolver struct {
	options Options

	nameservers *nameservers
	silences    *silences
	targets     targetAnswers
	domains     []string
}

// New returns a Resolver.
func New(o Options) *Resolver {
	if o.ResolvConf == "" {
		o.ResolvConf = "/etc/resolv.conf"
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Total <= 0 {
		o.Total = 15 * time.Second
	}
	if o.ClusterDomain == "" {
		o.ClusterDomain = "cluster.local"
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, network string, server netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, server.String())
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Resolver{
		options:     o,
		nameservers: newNameservers(o),
		silences:    &silences{now: o.Now},
		domains:     clusterDomains(o.ClusterDomain),
	}
}

// Lookup looks up a name. It returns within Options.Total, and soon after ctx ends.
func (r *Resolver) Lookup(ctx context.Context, name string, records networkingv1.RecordType) Answer {
	ctx, cancel := context.WithTimeout(ctx, r.options.Total)
	defer cancel()
	l := &lookup{Resolver: r}
	l.bytesLeft.Store(maxBytes)
	var a Answer
	if full := dns.CanonicalName(name); !wellFormed(full) {
		a = bothFamilies(NXDomain, 0, errors.New("not a domain name"))
	} else if records == networkingv1.RecordSRV {
		a = l.lookupServices(ctx, full)
	} else {
		a = l.lookupAddresses(ctx, full)
	}
	a.Queries = int(l.queries.Load())
	if a.Err != nil {
		a.Err = fmt.Errorf("look up %q: %w", name, a.Err)
	}
	return a
}

// Reachable reports whether any nameserver replies, with an error or not. The query is about the root, so that no name
// of a user affects the result.
func (r *Resolver) Reachable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, r.options.Total)
	defer cancel()
	l := &lookup{Resolver: r}
	l.bytesLeft.Store(maxBytes)
	_, err := l.query(ctx, ".", dns.TypeNS)
	return !errors.Is(err, errNoReply)
}

// wellFormed reports whether a name can be queried.
func wellFormed(full string) bool {
	_, ok := dns.IsDomainName(full)
	return ok && full != "." && !strings.Contains(full, "..")
}
