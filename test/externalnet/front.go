// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// crowd bounds the connections that one server holds open; more are reset.
const crowd = 10000

// front is the socket of a server, with the faults of the connection. Those that it lets pass it
// hands to a protocol, to which it is a listener that stays open whatever happens to the socket.
type front struct {
	outside, local netip.AddrPort
	greets         bool // garbage is sent without waiting for the client
	passed         chan net.Conn
	done           chan struct{}
	counter        counter
	work           sync.WaitGroup

	switching sync.Mutex // held while the socket is replaced; guards what follows
	socket    net.Listener
	silence   *silence
	accepting sync.WaitGroup
	ended     bool

	mu       sync.Mutex // guards what follows
	behavior Behavior
	open     map[*conn]struct{}
}

var _ net.Listener = (*front)(nil)

func newFront(outside netip.AddrPort) (*front, error) {
	local, err := LocalPort(outside)
	if err != nil {
		return nil, err
	}
	f := &front{
		outside: outside, local: local, passed: make(chan net.Conn), done: make(chan struct{}), open: map[*conn]struct{}{},
	}
	return f, f.Set(Behavior{})
}

// Set changes how clients are treated from now on. It returns when the socket is as wanted.
func (f *front) Set(c Behavior) error {
	f.switching.Lock()
	defer f.switching.Unlock()
	if f.ended {
		return fmt.Errorf("server at %s: %w", f.outside, net.ErrClosed)
	}
	f.mu.Lock()
	f.behavior = c
	f.mu.Unlock()
	listens := c.Fault != Refuse && c.Fault != Drop
	if !listens && f.socket != nil {
		f.deafen()
	}
	if c.Fault != Drop && f.silence != nil {
		f.silence.Close()
		f.silence = nil
	}
	if c.Fault == Refuse || c.Fault == Reset {
		f.resetAll()
	}
	var err error
	switch {
	case c.Fault == Drop && f.silence == nil:
		f.silence, err = keepSilent(f.local)
	case listens && f.socket == nil:
		err = f.listen()
	}
	if err != nil {
		return fmt.Errorf("server at %s: %w", f.outside, err)
	}
	return nil
}

func (f *front) listen() error {
	socket, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(f.local))
	if err != nil {
		return err
	}
	f.socket = socket
	f.accepting.Go(func() { accept(socket, f.done, f.admit) })
	return nil
}

// deafen closes the socket and waits until it accepts no more.
func (f *front) deafen() {
	_ = f.socket.Close()
	f.accepting.Wait()
	f.socket = nil
}

func (f *front) admit(tcp *net.TCPConn) {
	f.mu.Lock()
	c := &conn{TCPConn: tcp, front: f}
	fault := f.behavior.Fault
	if len(f.open) >= crowd {
		fault = Reset
	}
	f.open[c] = struct{}{}
	f.mu.Unlock()
	f.counter.opened()
	switch fault {
	case Reset, Refuse, Drop: // the latter two: it came before the socket was closed
		c.reset()
	case Hang:
		f.work.Go(func() { c.discard() })
	case Garbage:
		f.work.Go(func() { c.babble(f.greets) })
	default:
		f.work.Go(func() {
			select {
			case f.passed <- c:
			case <-f.done:
				_ = c.Close()
			}
		})
	}
}

// Accept returns the next connection for the protocol.
func (f *front) Accept() (net.Conn, error) {
	select {
	case c := <-f.passed:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

// Close ends the protocol. The server itself ends the front.
func (f *front) Close() error { return nil }

// Addr is the address on loopback.
func (f *front) Addr() net.Addr { return net.TCPAddrFromAddrPort(f.local) }

// end closes the socket and every connection; the protocol's own work is the server's to await.
func (f *front) end() {
	f.switching.Lock()
	defer f.switching.Unlock()
	if f.ended {
		return
	}
	f.ended = true
	close(f.done)
	if f.socket != nil {
		f.deafen()
	}
	if f.silence != nil {
		f.silence.Close()
	}
	f.resetAll()
}

func (f *front) resetAll() {
	f.mu.Lock()
	open := make([]*conn, 0, len(f.open))
	for c := range f.open {
		open = append(open, c)
	}
	f.mu.Unlock()
	for _, c := range open {
		c.reset()
	}
}

func (f *front) current() Behavior {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.behavior
}
