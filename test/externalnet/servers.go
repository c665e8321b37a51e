// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"os"
	"sync"
)

// Servers is a DNS server, an authority, and the servers that were opened. Close ends all of them.
type Servers struct {
	// DNS is the nameserver.
	DNS *DNS
	// CA issues the certificates of its servers.
	CA *Authority

	stranger *Authority

	mu       sync.Mutex // guards what follows
	servers  []*Server
	returned int // how many addresses
}

// Open starts a nameserver with an empty zone, and no other server.
func Open() (*Servers, error) {
	ca, err := NewAuthority()
	if err != nil {
		return nil, err
	}
	stranger, err := NewAuthority()
	if err != nil {
		return nil, err
	}
	names, err := ListenDNS()
	if err != nil {
		return nil, err
	}
	// Programs that run on this host at the same time should not want the same addresses.
	return &Servers{DNS: names, CA: ca, stranger: stranger, returned: os.Getpid() % 120 * 500}, nil
}

// Address returns an address outside, of 198.18.0.0/16, that it has not returned before.
func (s *Servers) Address() string {
	n := s.next()
	return fmt.Sprintf("198.18.%d.%d", n/250, n%250+1)
}

// Address6 is Address for 2001:db8::/32.
func (s *Servers) Address6() string { return fmt.Sprintf("2001:db8::1:%x", s.next()) }

func (s *Servers) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned++
	return s.returned
}

// Close ends every server and returns when none runs any more.
func (s *Servers) Close() error {
	s.mu.Lock()
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	for _, server := range servers {
		server.Close()
	}
	return s.DNS.Close()
}

// TCP opens a server at an address outside, such as "192.0.2.10:5432". It accepts and says nothing;
// it is also the canary where there must be no connection.
func (s *Servers) TCP(at string) (*Server, error) {
	return s.open(at, newTCP)
}

// HTTP opens a server that answers every path.
func (s *Servers) HTTP(at string) (*Server, error) {
	return s.open(at, func(at netip.AddrPort) (*Server, error) {
		f, err := newFront(at)
		if err != nil {
			return nil, err
		}
		return newHTTP(f, nil), nil
	})
}

// HTTPS is HTTP with a certificate for the address and for names.
func (s *Servers) HTTPS(at string, names ...string) (*Server, error) {
	return s.secure(at, names, newHTTP)
}

// GRPC opens a server with the gRPC health service, in plain text.
func (s *Servers) GRPC(at string) (*Server, error) {
	return s.open(at, func(at netip.AddrPort) (*Server, error) {
		f, err := newFront(at)
		if err != nil {
			return nil, err
		}
		return newGRPC(f, nil), nil
	})
}

// GRPCTLS is GRPC with a certificate for the address and for names.
func (s *Servers) GRPCTLS(at string, names ...string) (*Server, error) {
	return s.secure(at, names, newGRPC)
}

func (s *Servers) secure(at string, names []string, serve func(*front, *tls.Config) *Server) (*Server, error) {
	return s.open(at, func(at netip.AddrPort) (*Server, error) {
		f, err := newFront(at)
		if err != nil {
			return nil, err
		}
		config, err := wardrobe(f, s.CA, s.stranger, names)
		if err != nil {
			f.end()
			return nil, err
		}
		return serve(f, config), nil
	})
}

func (s *Servers) open(at string, start func(netip.AddrPort) (*Server, error)) (*Server, error) {
	where, err := netip.ParseAddrPort(at)
	if err != nil {
		return nil, fmt.Errorf("server at %q: %w", at, err)
	}
	server, err := start(where)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers = append(s.servers, server)
	return server, nil
}
