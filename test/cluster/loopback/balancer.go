// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultInterval       = 50 * time.Millisecond
	defaultProbeTimeout   = time.Second
	defaultMaxConnections = 1024
	dialTimeout           = 5 * time.Second
)

// Backend is one replica.
type Backend struct {
	// Address that connections are forwarded to, as host:port.
	Address string
	// Readyz is asked whether the backend takes new connections: 200 is yes. An http URL, such as
	// http://127.0.0.1:8081/readyz.
	Readyz string
}

// Options of Listen.
type Options struct {
	// Address to listen on. Default 127.0.0.1:0, a free port.
	Address string
	// Backends to begin with. See Balancer.SetBackends.
	Backends []Backend
	// Interval between two questions to each backend. Default 50 ms.
	Interval time.Duration
	// ProbeTimeout is how long an answer may take. Default 1 s.
	ProbeTimeout time.Duration
	// MaxConnections at one time; more are refused. Default 1024.
	MaxConnections int
}

// Balancer forwards the connections to one port to the backends that are ready, in turn. A
// connection goes on as long as both its ends do, whatever becomes of its backend's readiness. With
// no backend ready a connection is reset.
type Balancer struct {
	options  Options
	listener *net.TCPListener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup // every goroutine of the balancer
	slots    chan struct{}  // one for each connection
	turn     atomic.Uint64

	mu     sync.Mutex // guards probes
	probes []*probe
}

// Listen starts a balancer. It lives until Close is called or ctx ends, and then takes its
// connections along. SetBackends has probed each backend once when Listen returns.
func Listen(ctx context.Context, options Options) (*Balancer, error) {
	if options.Address == "" {
		options.Address = "127.0.0.1:0"
	}
	if options.Interval == 0 {
		options.Interval = defaultInterval
	}
	if options.ProbeTimeout == 0 {
		options.ProbeTimeout = defaultProbeTimeout
	}
	if options.MaxConnections == 0 {
		options.MaxConnections = defaultMaxConnections
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", options.Address)
	if err != nil {
		return nil, fmt.Errorf("loopback balancer: %w", err)
	}
	b := &Balancer{options: options, slots: make(chan struct{}, options.MaxConnections)}
	b.listener = listener.(*net.TCPListener) //nolint:errcheck,forcetypeassert // tcp has no other
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.wg.Go(b.accept)
	b.wg.Go(func() { <-b.ctx.Done(); _ = b.listener.Close() })
	b.SetBackends(options.Backends...)
	return b, nil
}

// Port the balancer listens on.
func (b *Balancer) Port() int { return b.listener.Addr().(*net.TCPAddr).Port } //nolint:errcheck,forcetypeassert // tcp has no other

// Address the balancer listens on, as host:port.
func (b *Balancer) Address() string { return b.listener.Addr().String() }

// SetBackends replaces the backends. One that stays keeps its state; one that goes keeps its
// connections; a new one has been asked once when SetBackends returns. It does nothing after Close.
func (b *Balancer) SetBackends(backends ...Backend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return
	}
	var next []*probe
	var asked sync.WaitGroup
	for _, backend := range backends {
		i := slices.IndexFunc(b.probes, func(p *probe) bool { return p.backend == backend })
		if i >= 0 {
			next = append(next, b.probes[i])
			continue
		}
		p := newProbe(b.ctx, backend, b.options.Interval, b.options.ProbeTimeout)
		next = append(next, p)
		asked.Go(p.ask)
	}
	asked.Wait()
	for _, p := range b.probes {
		if !slices.Contains(next, p) {
			p.cancel()
		}
	}
	for _, p := range next {
		if !slices.Contains(b.probes, p) {
			b.wg.Go(p.run)
		}
	}
	b.probes = next
}

// Ready returns the addresses of the backends that take new connections, in the order given.
func (b *Balancer) Ready() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ready []string
	for _, p := range b.probes {
		if p.ready.Load() {
			ready = append(ready, p.backend.Address)
		}
	}
	return ready
}

// Close stops listening, ends all connections, and returns when nothing of the balancer runs.
func (b *Balancer) Close() {
	b.mu.Lock()
	b.cancel() // under the lock: SetBackends starts nothing after this
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *Balancer) accept() {
	for {
		conn, err := b.listener.AcceptTCP()
		if b.ctx.Err() != nil {
			if err == nil {
				reset(conn)
			}
			return
		}
		if err != nil {
			// Out of descriptors, most likely: pause, or this turns into a busy loop.
			select {
			case <-b.ctx.Done():
				return
			case <-time.After(b.options.Interval):
			}
			continue
		}
		select {
		case b.slots <- struct{}{}:
			b.wg.Go(func() { defer func() { <-b.slots }(); b.serve(conn) })
		default:
			reset(conn)
		}
	}
}

// serve forwards one connection until both directions have ended or the balancer does.
func (b *Balancer) serve(client *net.TCPConn) {
	ready := b.Ready()
	if len(ready) == 0 {
		reset(client)
		return
	}
	address := ready[b.turn.Add(1)%uint64(len(ready))]
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(b.ctx, "tcp", address)
	if err != nil {
		reset(client)
		return
	}
	backend := conn.(*net.TCPConn) //nolint:errcheck,forcetypeassert // tcp has no other
	stop := context.AfterFunc(b.ctx, func() { reset(client); reset(backend) })
	defer stop()

	var back sync.WaitGroup
	back.Go(func() { pipe(client, backend) })
	pipe(backend, client)
	back.Wait()
	_ = client.Close()
	_ = backend.Close()
}

// pipe copies until from has no more to say, and passes that on. What fails on the way is passed on
// as a reset, so that no client takes half a response for a whole one.
func pipe(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		reset(from)
		return
	}
	_ = to.CloseWrite()
}

// reset ends a connection the way a port without a server would.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}
