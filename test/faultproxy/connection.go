// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"context"
	"net"
	"sync"
)

// connection is a connection of a client. A test can silence it for good: no bytes arrive any more on either side, and
// neither side sees an error.
type connection struct {
	net.Conn
	silent, closed chan struct{}
	silence, end   sync.Once
	carried        []Request // guarded by the proxy
}

type connectionKey struct{}

// listener keeps the connections that it accepts.
type listener struct {
	net.Listener
	proxy *Proxy
}

func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, silent: make(chan struct{}), closed: make(chan struct{})}
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	l.proxy.connections[c] = struct{}{}
	l.proxy.accepted++
	return c, nil
}

// contextOf puts the connection into the context of its requests, in which the handler finds it.
func contextOf(ctx context.Context, c net.Conn) context.Context {
	if ended, ok := c.(interface{ NetConn() net.Conn }); ok { // of TLS
		c = ended.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

func (c *connection) isSilent() bool {
	select {
	case <-c.silent:
		return true
	default:
		return false
	}
}

func (c *connection) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if c.isSilent() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *connection) Write(from []byte) (int, error) {
	if c.isSilent() {
		return len(from), nil
	}
	return c.Conn.Write(from)
}

// Close does not close a silenced connection towards the client, which must detect the silence by itself.
func (c *connection) Close() error {
	c.end.Do(func() { close(c.closed) })
	if c.isSilent() {
		return nil
	}
	return c.Conn.Close()
}

// SilenceConnections silences the open connections that have carried a request that matches, and returns how many these
// are. New connections work.
func (p *Proxy) SilenceConnections(m Match) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	silenced := 0
	for c := range p.connections {
		for _, request := range c.carried {
			if !c.isSilent() && m(request) {
				c.silence.Do(func() { close(c.silent) })
				silenced++
				break
			}
		}
	}
	return silenced
}

// Connections is how many connections were opened so far.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}
