// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// listen opens the port.
func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	// A stop that comes first is for the drain to see, not for the listener.
	listener, err := config.Listen(context.WithoutCancel(ctx), "tcp", s.options.address())
	if err != nil {
		return nil, explain(s.options.address(), err)
	}
	s.mu.Lock()
	s.listenAddr = listener.Addr()
	s.mu.Unlock()
	secured := s.options.tlsConfig()
	s.callers.demand(secured)
	return tls.NewListener(limit(listener, s.options.MaxConnections), secured), nil
}

// explain adds to an error of listening what to do about it.
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

// limited accepts no more connections than it has slots. Those above wait to be accepted.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limit(listener net.Listener, connections int) *limited {
	return &limited{Listener: listener, slots: make(chan struct{}, connections), closed: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
