// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// silentFor is how long a nameserver that did not answer is asked after the others. Without it,
// every lookup would first wait for the one that is down.
const silentFor = 30 * time.Second

// serverHealth remembers which nameservers did not answer lately.
type serverHealth struct {
	now func() time.Time

	mu     sync.Mutex
	silent map[netip.AddrPort]time.Time
}

// order returns the servers in their order, those that were silent lately last.
func (s *serverHealth) order(servers []netip.AddrPort) []netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.silent) == 0 {
		return servers
	}
	now := s.now()
	late := func(server netip.AddrPort) int {
		if since, ok := s.silent[server]; ok && now.Sub(since) < silentFor {
			return 1
		}
		return 0
	}
	servers = slices.Clone(servers)
	slices.SortStableFunc(servers, func(a, b netip.AddrPort) int { return late(a) - late(b) })
	return servers
}

// record remembers whether a server answered. There are never more entries than servers, twice at
// most while a list has just changed.
func (s *serverHealth) record(server netip.AddrPort, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answered {
		delete(s.silent, server)
		return
	}
	if s.silent == nil || len(s.silent) >= 2*maxServers {
		s.silent = map[netip.AddrPort]time.Time{}
	}
	s.silent[server] = s.now()
}
