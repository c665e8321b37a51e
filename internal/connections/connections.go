// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// socketBuffer is the size of a connection's kernel buffer in each direction, in bytes. The kernel doubles it. Its own choice
// may be megabytes, and counts as memory of the container.
const socketBuffer = 64 << 10

// retryEvery is how often a connection above the bound looks for one that can be evicted.
const retryEvery = 50 * time.Millisecond

// evictAfter is how long a connection may keep the server waiting before another one may replace it. Only the
// time that the server waits for bytes counts: on a busy machine, the rest is not the caller's fault.
const evictAfter = time.Second

// Listener bounds how many connections are open. A further one takes the place of one that keeps the server
// waiting: the port is open to all pods, and those who connect and then send nothing must not keep out
// those who do send. Connections whose request is being worked on are left alone; while there is no other
// one that is slow, further ones wait.
type Listener struct {
	net.Listener
	max     int
	evicted prometheus.Counter
	freed   chan struct{} // has room for one: some connection was closed
	closed  chan struct{}
	once    sync.Once
	lost    func() time.Duration // for how long this process has not run

	mu   sync.Mutex
	open map[*Conn]struct{}
	from map[string]int // open ones by source
}

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	of     *Listener
	source string // the caller's address without its port

	// Guarded by the listener's mutex.
	state  State
	waited time.Duration // for bytes, in this state, without the read that has not ended
	reads  time.Time     // since when that one waits; zero while there is none
	proven bool          // it brought a request that its server wants more of
	until  time.Time     // it may be read, as was set last
	lost   time.Duration // when that was set
}

// Read records how long the server waits. A deadline that passes while this process does not run is
// extended by as long.
func (c *Conn) Read(p []byte) (int, error) {
	c.recordRead(true)
	defer c.recordRead(false)
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !c.extendDeadline() {
			return n, err
		}
	}
}

// SetReadDeadline records what is set.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.readUntil(t)
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *Conn) readUntil(t time.Time) error {
	c.until, c.lost = t, c.of.lost()
	return c.Conn.SetReadDeadline(t)
}

// extendDeadline extends a deadline that has passed, and reports whether there is more time now.
func (c *Conn) extendDeadline() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	later := c.until.Add(c.of.lost() - c.lost)
	return later.After(time.Now()) && c.readUntil(later) == nil
}

func (c *Conn) recordRead(begins bool) {
	now := time.Now()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.waited = c.waitedFor(now)
	if c.reads = now; !begins {
		c.reads = time.Time{}
	}
}

// waitedFor returns how long the connection has kept the server waiting.
func (c *Conn) waitedFor(now time.Time) time.Duration {
	if c.reads.IsZero() {
		return c.waited
	}
	return c.waited + now.Sub(c.reads)
}

// State is the party that a connection waits for.
type State int

// The states of a connection.
const (
	Sending State = iota // for the caller, in a handshake, a header, a body or an answer
	Idle                 // for the caller's next request
	Working              // for the server
)

// Options configure a Listener.
type Options struct {
	// Max is how many connections are open at once.
	Max int
	// Evicted counts those that were closed for another one. Defaults to a counter that is not registered.
	Evicted prometheus.Counter
	// Lost returns for how long this process has not run, by which deadlines of reads are extended. Defaults to
	// never.
	Lost func() time.Duration
}

// Bound returns a listener that bounds the connections of another one.
func Bound(listener net.Listener, o Options) *Listener {
	if o.Evicted == nil {
		o.Evicted = prometheus.NewCounter(prometheus.CounterOpts{})
	}
	if o.Lost == nil {
		o.Lost = func() time.Duration { return 0 }
	}
	return &Listener{
		Listener: listener, max: o.Max, evicted: o.Evicted, lost: o.Lost, freed: make(chan struct{}, 1), closed: make(chan struct{}),
		open: make(map[*Conn]struct{}), from: make(map[string]int),
	}
}

// Accept implements net.Listener. It waits while Options.Max connections are open and none can be closed.
func (l *Listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_, _ = tcp.SetReadBuffer(socketBuffer), tcp.SetWriteBuffer(socketBuffer) // which a closed connection has no need of
	}
	c := &Conn{Conn: raw, of: l, source: Source(raw.RemoteAddr().String())}
	for !l.add(c) {
		select {
		case <-l.freed:
		case <-time.After(retryEvery):
		case <-l.closed:
			_ = raw.Close()
			return nil, net.ErrClosed
		}
	}
	return c, nil
}

// Close implements net.Listener. Connections stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Source returns an address without its port.
func Source(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// add adds a connection, if there is room or another one can be evicted.
func (l *Listener) add(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		worst := l.evictionCandidate()
		if worst == nil {
			return false
		}
		l.remove(worst)
		l.evicted.Inc()
		_ = worst.Conn.Close() // its reader gets the error
	}
	l.open[c] = struct{}{}
	l.from[c.source]++
	return true
}

// evictionCandidate returns the connection to close: one that is not proven rather than one that is, one of the
// source that has most, and the one that has kept the server waiting longest.
func (l *Listener) evictionCandidate() (worst *Conn) {
	now := time.Now()
	for c := range l.open {
		if c.state != Working && c.waitedFor(now) >= evictAfter && (worst == nil || l.isWorse(c, worst, now)) {
			worst = c
		}
	}
	return worst
}

func (l *Listener) isWorse(c, than *Conn, now time.Time) bool {
	switch {
	case c.proven != than.proven:
		return than.proven
	case c.proven && c.state != than.state:
		return c.state == Sending // to close an idle one may cost a request that is on its way
	case l.from[c.source] != l.from[than.source]:
		return l.from[c.source] > l.from[than.source]
	}
	return c.waitedFor(now) > than.waitedFor(now)
}

// remove removes a connection.
func (l *Listener) remove(c *Conn) {
	if _, has := l.open[c]; !has {
		return
	}
	delete(l.open, c)
	if l.from[c.source]--; l.from[c.source] == 0 {
		delete(l.from, c.source)
	}
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// SetState sets what the connection waits for from now on.
func (c *Conn) SetState(state State) {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.state, c.waited = state, 0
	if !c.reads.IsZero() { // as it does while a request is worked on, to notice that the caller leaves
		c.reads = time.Now()
	}
}

// MarkProven records that the connection brought a request that its server wants more of: it is evicted last.
func (c *Conn) MarkProven() {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.proven = true
}

// Of returns the connection below TLS; nil where it is another server's.
func Of(conn net.Conn) *Conn {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, _ := conn.(*Conn)
	return c
}

// contextKey is for the connection in the context of its requests.
type contextKey struct{}

// Context is http.Server.ConnContext of a server with this listener.
func Context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, Of(conn))
}

// FromContext returns the connection of a request; nil, which all methods take, where it is another server's.
func FromContext(ctx context.Context) *Conn {
	c, _ := ctx.Value(contextKey{}).(*Conn)
	return c
}

// Track is http.Server.ConnState of a server with this listener.
func Track(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateActive:
		Of(conn).SetState(Sending)
	case http.StateIdle:
		Of(conn).SetState(Idle)
	}
}
