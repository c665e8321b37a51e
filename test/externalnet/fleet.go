// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Protocol of a fleet.
type Protocol string

// Protocols of fleets.
const (
	// FleetTCP accepts and waits until the client closes.
	FleetTCP Protocol = "TCP"
	// FleetHTTP responds to one request with 200, and by 503 where it fails.
	FleetHTTP Protocol = "HTTP"
)

// FleetOptions of a fleet.
type FleetOptions struct {
	// Port of every address. The default is a free one.
	Port uint16
	// Protocol is the protocol of the addresses. The default is FleetTCP.
	Protocol Protocol
	// Workers is how many connections are served at once; the kernel queues the others. The default
	// is 256.
	Workers int
	// Patience is how long one connection may last. The default is 5s.
	Patience time.Duration
}

// Fleet is a server at every address outside at once, on one port, with a fixed number of
// goroutines: for tens of thousands of endpoints. No other server can use its port.
type Fleet struct {
	options FleetOptions
	socket  net.Listener
	port    uint16
	done    chan struct{}
	work    sync.WaitGroup
	counter counter

	mu     sync.Mutex // guards what follows
	counts map[netip.Addr]int
	failed map[netip.Addr]bool
	open   map[net.Conn]struct{}
}

// OpenFleet starts a fleet.
func OpenFleet(o FleetOptions) (*Fleet, error) {
	if o.Protocol == "" {
		o.Protocol = FleetTCP
	}
	if o.Workers <= 0 {
		o.Workers = 256
	}
	if o.Patience <= 0 {
		o.Patience = 5 * time.Second
	}
	// At every address of this host; those that are not of loopback are hung up on.
	socket, err := net.ListenTCP("tcp4", &net.TCPAddr{Port: int(o.Port)})
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	bound, err := netip.ParseAddrPort(socket.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fleet: %w", err), socket.Close())
	}
	f := &Fleet{
		options: o, socket: socket, port: bound.Port(), done: make(chan struct{}),
		counts: map[netip.Addr]int{}, failed: map[netip.Addr]bool{}, open: map[net.Conn]struct{}{},
	}
	for range o.Workers {
		f.work.Go(func() { accept(socket, f.done, f.one) })
	}
	return f, nil
}

// Port is the one of every address.
func (f *Fleet) Port() uint16 { return f.port }

// Fail makes exactly these addresses outside fail: by RST, or by status 503 of HTTP.
func (f *Fleet) Fail(outside ...netip.Addr) error {
	failed := make(map[netip.Addr]bool, len(outside))
	for _, address := range outside {
		local, err := Local(address)
		if err != nil {
			return err
		}
		failed[local] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = failed
	return nil
}

// Count is how many connections an address outside has had.
func (f *Fleet) Count(outside netip.Addr) int {
	local, err := Local(outside)
	if err != nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[local]
}

// Seen is how many addresses have had a connection.
func (f *Fleet) Seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.counts)
}

// Counts are those of all addresses together. Connections that wait in the kernel are not open yet.
func (f *Fleet) Counts() Counts { return f.counter.read() }

// Close ends the fleet and returns when its goroutines have ended.
func (f *Fleet) Close() error {
	f.mu.Lock()
	select {
	case <-f.done:
		f.mu.Unlock()
		return nil
	default:
	}
	close(f.done)
	err := f.socket.Close()
	for c := range f.open {
		_ = c.SetDeadline(time.Unix(1, 0))
	}
	f.mu.Unlock()
	f.work.Wait()
	return err
}

func (f *Fleet) one(c *net.TCPConn) {
	local := netip.Addr{}
	if at, ok := c.LocalAddr().(*net.TCPAddr); ok {
		local = at.AddrPort().Addr().Unmap()
	}
	if !local.IsLoopback() {
		_ = c.Close()
		return
	}
	f.counter.opened()
	defer f.counter.closed()
	failed := f.begin(c, local)
	defer f.finish(c)
	switch {
	case f.options.Protocol == FleetHTTP:
		f.answer(c, failed)
	case failed:
		_ = c.SetLinger(0)
	default:
		_, _ = c.Read(make([]byte, 1))
	}
}

// begin notes a connection and says whether its address fails.
func (f *Fleet) begin(c net.Conn, local netip.Addr) (failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[local]++
	f.open[c] = struct{}{}
	_ = c.SetDeadline(time.Now().Add(f.options.Patience))
	select {
	case <-f.done:
		_ = c.SetDeadline(time.Unix(1, 0))
	default:
	}
	return f.failed[local]
}

func (f *Fleet) finish(c net.Conn) {
	f.mu.Lock()
	delete(f.open, c)
	f.mu.Unlock()
	_ = c.Close()
}

var (
	headersEnd = []byte("\r\n\r\n")
	good       = []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	bad        = []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
)

// answer reads the headers of one request and answers it.
func (f *Fleet) answer(c net.Conn, failed bool) {
	var request []byte
	for buffer := make([]byte, 2048); !bytes.Contains(request, headersEnd); {
		n, err := c.Read(buffer)
		if err != nil || len(request) > 1<<16 {
			return
		}
		request = append(request, buffer[:n]...)
	}
	status := good
	if failed {
		status = bad
	}
	if _, err := c.Write(status); err == nil {
		_, _ = c.Read(make([]byte, 1)) // the side that closes first keeps the port for a minute: the client
	}
}
