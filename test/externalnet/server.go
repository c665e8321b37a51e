// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"time"
)

// Server is one server outside.
type Server struct {
	front *front
	// finish ends the protocol and returns when its goroutines have ended.
	finish func()
}

// At is the address outside.
func (s *Server) At() netip.AddrPort { return s.front.outside }

// Set changes how clients are treated from now on. It returns when that is in force.
func (s *Server) Set(c Behavior) error { return s.front.Set(c) }

// Counts returns the counts of the server so far.
func (s *Server) Counts() Counts { return s.front.counter.read() }

// Close ends the server and its connections, and returns when all of it has ended.
func (s *Server) Close() {
	s.front.end()
	s.finish()
	s.front.work.Wait()
}

// newTCP accepts, and says nothing.
func newTCP(at netip.AddrPort) (*Server, error) {
	front, err := newFront(at)
	if err != nil {
		return nil, err
	}
	front.greets = true
	front.work.Go(func() {
		for {
			accepted, err := front.Accept()
			if err != nil {
				return
			}
			if c, ok := accepted.(*conn); ok {
				front.work.Go(c.discard)
			}
		}
	})
	return &Server{front: front, finish: func() {}}, nil
}

// wardrobe are the certificates that a server may show.
func wardrobe(f *front, own, stranger *Authority, names []string) (*tls.Config, error) {
	names = append([]string{f.outside.Addr().String(), f.local.Addr().String()}, names...)
	hour := time.Hour
	shown := map[Fault]*tls.Certificate{}
	for _, c := range []struct {
		fault  Fault
		issuer *Authority
		until  time.Duration
		names  []string
	}{
		{Healthy, own, 24 * hour, names},
		{WrongName, own, 24 * hour, []string{"wrong.invalid"}},
		{Expired, own, -hour, names},
		{UnknownIssuer, stranger, 24 * hour, names},
	} {
		certificate, err := c.issuer.Issue(time.Now().Add(c.until), c.names...)
		if err != nil {
			return nil, fmt.Errorf("server at %s: %w", f.outside, err)
		}
		shown[c.fault] = certificate
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if certificate := shown[f.current().Fault]; certificate != nil {
				return certificate, nil
			}
			return shown[Healthy], nil
		},
	}, nil
}
