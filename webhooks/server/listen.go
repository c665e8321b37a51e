// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/fairlead-dev/fairlead/internal/connections"
)

// listen opens the port.
func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	// The listener is opened even if the server is already asked to stop: the drain then closes it.
	listener, err := config.Listen(context.WithoutCancel(ctx), "tcp", s.options.address())
	if err != nil {
		return nil, explain(s.options.address(), err)
	}
	s.mu.Lock()
	s.listenAddr = listener.Addr()
	s.mu.Unlock()
	secured := s.options.tlsConfig()
	s.clientAuth.configure(secured)
	return tls.NewListener(connections.Bound(listener, connections.Options{
		Max: s.options.MaxConnections, Evicted: s.metrics.evicted, Lost: s.pauses.Lost,
	}), secured), nil
}

// explain adds to an error of the listener what to do about it.
func explain(address string, err error) error {
	remedy := "correct the webhook server's host and port"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		remedy = "another process holds it; stop that one or choose another webhook port"
	case errors.Is(err, syscall.EACCES):
		remedy = "ports below 1024 need a privilege that this process does not have; choose a higher one"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		remedy = "this machine does not have that address; correct the webhook host"
	}
	return fmt.Errorf("cannot listen on %s: %w (%s)", address, err, remedy)
}
