// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// socketBuffer is what the kernel keeps for a connection in each direction, in bytes, which it doubles. Its
// own choice may be megabytes, and counts as memory of the container.
const socketBuffer = 64 << 10

// evictAfter is how long a connection may keep the server waiting before another one may replace it. Only the
// time that the server waits for bytes counts: on a busy machine, the rest is not the caller's fault.
const evictAfter = time.Second

// connections bounds how many are open. A further one takes the place of one that keeps the server
// waiting: the port is open to all pods, and those who connect and then send nothing must not keep out
// those who do send. Connections whose request is being worked on are left alone; while there is no other
// one that is slow, further ones wait.
type connections struct {
	net.Listener
	most    int
	evicted prometheus.Counter
	freed   chan struct{} // has room for one: some connection was closed
	closed  chan struct{}
	once    sync.Once
	lost    func() time.Duration // for how long this process has not run

	mu   sync.Mutex
	open map[*connection]struct{}
	from map[string]int // open ones by source
}

// connection is one of them.
type connection struct {
	net.Conn
	of     *connections
	source string // the caller's address without its port

	// Guarded by the connections' mutex.
	state  connState
	waited time.Duration // for bytes, in this state, without the read that has not ended
	reads  time.Time     // since when that one waits; zero while there is none
	proven bool          // it brought a review that was answered
	until  time.Time     // it may be read, as was set last
	lost   time.Duration // when that was set
}

// Read records how long the server waits. A deadline that passes while this process does not run is
// extended by as long.
func (c *connection) Read(p []byte) (int, error) {
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
func (c *connection) SetReadDeadline(t time.Time) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.readUntil(t)
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *connection) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *connection) readUntil(t time.Time) error {
	c.until, c.lost = t, c.of.lost()
	return c.Conn.SetReadDeadline(t)
}

// extendDeadline extends a deadline that has passed, and reports whether there is more time now.
func (c *connection) extendDeadline() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	later := c.until.Add(c.of.lost() - c.lost)
	return later.After(time.Now()) && c.readUntil(later) == nil
}

func (c *connection) recordRead(begins bool) {
	now := time.Now()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.waited = c.waitedFor(now)
	if c.reads = now; !begins {
		c.reads = time.Time{}
	}
}

// waitedFor returns how long the connection has kept the server waiting.
func (c *connection) waitedFor(now time.Time) time.Duration {
	if c.reads.IsZero() {
		return c.waited
	}
	return c.waited + now.Sub(c.reads)
}

// connState is what a connection waits for.
type connState int

const (
	sending connState = iota // for the caller, in a handshake, a header, a body or an answer
	idle                     // for the caller's next request
	working                  // for the server
)

func bound(listener net.Listener, most int, evicted prometheus.Counter, lost func() time.Duration) *connections {
	return &connections{
		Listener: listener, most: most, evicted: evicted, lost: lost, freed: make(chan struct{}, 1), closed: make(chan struct{}),
		open: make(map[*connection]struct{}), from: make(map[string]int),
	}
}

func (l *connections) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_, _ = tcp.SetReadBuffer(socketBuffer), tcp.SetWriteBuffer(socketBuffer) // which a closed connection has no need of
	}
	c := &connection{Conn: raw, of: l, source: sourceOf(raw.RemoteAddr().String())}
	for !l.add(c) {
		select {
		case <-l.freed:
		case <-time.After(evictEvery):
		case <-l.closed:
			_ = raw.Close()
			return nil, net.ErrClosed
		}
	}
	return c, nil
}

func (l *connections) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// sourceOf is an address without its port.
func sourceOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// add adds a connection, if there is room or another one can be evicted.
func (l *connections) add(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.most {
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

// evictionCandidate returns the connection to close: one that never brought a review rather than one that did, one of the
// source that has most, and the one that has kept the server waiting longest.
func (l *connections) evictionCandidate() (worst *connection) {
	now := time.Now()
	for c := range l.open {
		if c.state != working && c.waitedFor(now) >= evictAfter && (worst == nil || l.isWorse(c, worst, now)) {
			worst = c
		}
	}
	return worst
}

func (l *connections) isWorse(c, than *connection, now time.Time) bool {
	switch {
	case c.proven != than.proven:
		return than.proven
	case c.proven && c.state != than.state:
		return c.state == sending // to close an idle one may cost a request that is on its way
	case l.from[c.source] != l.from[than.source]:
		return l.from[c.source] > l.from[than.source]
	}
	return c.waitedFor(now) > than.waitedFor(now)
}

// remove removes a connection.
func (l *connections) remove(c *connection) {
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

func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// setState sets what the connection waits for from now on.
func (c *connection) setState(p connState) {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.state, c.waited = p, 0
	if !c.reads.IsZero() { // as it does while a request is worked on, to notice that the caller leaves
		c.reads = time.Now()
	}
}

// markProven records that the connection brought a review that was answered.
func (c *connection) markProven() {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.proven = true
}

// connectionOf is the connection below TLS; nil where it is another server's.
func connectionOf(conn net.Conn) *connection {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}
