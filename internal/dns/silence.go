// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	// silentFor is how long a nameserver that did not reply is queried after the others. Otherwise every lookup
	// would first wait for the one that is down.
	silentFor = 30 * time.Second
	// rootEvery is the minimum time between two queries about the root to one server.
	rootEvery = 5 * time.Second
	// maxSilences limits the names that are remembered with a server.
	maxSilences = 4096
)

// silences has the nameservers that did not reply lately: at all, or about one name. Who owns a name decides whether a
// server replies about it, so that this moves no other name to another server.
type silences struct {
	now func() time.Time

	mu     sync.Mutex
	silent map[netip.AddrPort]time.Time
	// of has the same for single names.
	of map[silence]time.Time
	// askedRoot is when a server was last queried about the root.
	askedRoot map[netip.AddrPort]time.Time
}

// silence is a server that does not reply about a name.
type silence struct {
	server netip.AddrPort
	name   string
}

// order returns the servers for a name in their order, those that did not reply lately last.
func (s *silences) order(servers []netip.AddrPort, name string) []netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.silent)+len(s.of) == 0 {
		return servers
	}
	now := s.now()
	late := func(server netip.AddrPort) int {
		for _, since := range []time.Time{s.silent[server], s.of[silence{server, name}]} {
			if !since.IsZero() && now.Sub(since) < silentFor {
				return 1
			}
		}
		return 0
	}
	servers = slices.Clone(servers)
	slices.SortStableFunc(servers, func(a, b netip.AddrPort) int { return late(a) - late(b) })
	return servers
}

// recordReply records that a server replied about a name.
func (s *silences) recordReply(server netip.AddrPort, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.silent, server)
	delete(s.of, silence{server, name})
}

// recordSilence records that a server did not reply about a name.
func (s *silences) recordSilence(server netip.AddrPort, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= maxSilences {
		s.of = map[silence]time.Time{}
	}
	s.of[silence{server, name}] = s.now()
}

// mayAskRoot reports whether a server may be queried about the root now, and counts that.
func (s *silences) mayAskRoot(server netip.AddrPort) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if at, ok := s.askedRoot[server]; ok && now.Sub(at) < rootEvery {
		return false
	}
	if s.askedRoot == nil || len(s.askedRoot) >= 2*maxServers {
		s.askedRoot = map[netip.AddrPort]time.Time{}
	}
	s.askedRoot[server] = now
	return true
}

// recordDown records that a server replies about nothing.
func (s *silences) recordDown(server netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent == nil || len(s.silent) >= 2*maxServers {
		s.silent = map[netip.AddrPort]time.Time{}
	}
	s.silent[server] = s.now()
}

// askRoot queries servers that did not reply about a name, while another did, about the root, which no tenant owns:
// only one that does not reply to that either is down for every name.
func (l *lookup) askRoot(ctx context.Context, silent []netip.AddrPort) {
	for _, server := range silent {
		if !l.silences.mayAskRoot(server) {
			continue
		}
		if _, err := l.queryServer(ctx, server, newQuestion(".", dns.TypeNS, false)); errors.Is(err, errNoReply) && ctx.Err() == nil {
			l.silences.recordDown(server)
		}
	}
}
