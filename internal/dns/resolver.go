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
	// maxServers is how many nameservers are asked at most.
	maxServers = 8
	// maxBytes is how much one Lookup reads at most.
	maxBytes = 1 << 20
	// maxRecords is how many records of an answer are looked at.
	maxRecords = 1000
)

// Options of a Resolver.
type Options struct {
	// Nameservers are asked in turn, the first 8 of them. The default is those of ResolvConf,
	// which is read again when it has changed.
	Nameservers []netip.AddrPort
	// ResolvConf is a resolv.conf(5) file; only its nameservers count. The default is
	// /etc/resolv.conf.
	ResolvConf string
	// Timeout of one question to one nameserver. The default is 2s.
	Timeout time.Duration
	// Total bounds a Lookup, all its questions taken together. The default is 15s.
	Total time.Duration
	// Attempts is how often every nameserver is asked, in turn with the others. The default is 2.
	Attempts int
	// ClusterDomain is the DNS domain of the cluster, that no name may lead into. The default is
	// cluster.local.
	ClusterDomain string
	// Dial connects to a nameserver, network being udp or tcp. The default is a net.Dialer.
	Dial func(ctx context.Context, network string, server netip.AddrPort) (net.Conn, error)
	// Now tells the time. The default is time.Now.
	Now func() time.Time
}

// Resolver looks names up. It is safe for concurrent use.
type Resolver struct {
	Options

	nameservers *nameservers
	health      *serverHealth
	domains     []string
}

// New makes a Resolver. It sends nothing yet.
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
	if o.Attempts <= 0 {
		o.Attempts = 2
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
		Options:     o,
		nameservers: newNameservers(o),
		health:      &serverHealth{now: o.Now},
		domains:     clusterDomains(o.ClusterDomain),
	}
}

// Lookup asks where a name leads now. It ends within Options.Total, and soon after ctx has.
func (r *Resolver) Lookup(ctx context.Context, name string, records networkingv1.RecordType) Answer {
	ctx, cancel := context.WithTimeout(ctx, r.Total)
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
	if a.Err != nil {
		a.Err = fmt.Errorf("look up %q: %w", name, a.Err)
	}
	return a
}

// Reachable asks whether any nameserver answers anything at all, be it an error. The question is
// one about the root, so that no name that a user chose affects the result.
func (r *Resolver) Reachable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, r.Total)
	defer cancel()
	l := &lookup{Resolver: r}
	l.bytesLeft.Store(maxBytes)
	_, err := l.query(ctx, ".", dns.TypeNS)
	return !errors.Is(err, errNoReply)
}

// wellFormed says whether a name can be asked for.
func wellFormed(full string) bool {
	_, ok := dns.IsDomainName(full)
	return ok && full != "." && !strings.Contains(full, "..")
}
