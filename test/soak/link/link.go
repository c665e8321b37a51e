// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Mode is what becomes of connections.
type Mode int

const (
	// Open forwards.
	Open Mode = iota
	// Refused ends all connections by a reset, and new ones at once, as a host without a server does.
	Refused
	// Silent forwards nothing, and ends nothing: as a network that drops packets does.
	Silent
)

const dialTimeout = 5 * time.Second

// Counts are what a link has seen.
type Counts struct {
	// Opened is how many connections were opened.
	Opened int
	// InFlight is on how many of them the client spoke last, and waits.
	InFlight int
	// Unanswered is how many ended at the far side while the client waited, with the link open.
	Unanswered int
	// Missed is how many found nobody: they came, or spoke, while the link was not open, or nobody
	// listened at the far side.
	Missed int
}

// Link forwards one port of loopback to another. Its methods may be called from any goroutine.
type Link struct {
	target   string
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	opened, unanswered, missed atomic.Int64

	mu      sync.Mutex // guards what follows
	mode    Mode
	changed chan struct{} // closed at the next change of mode
	open    map[*wire]struct{}
}

// Listen starts an open link to a target, host:port, until Close is called or ctx ends.
func Listen(ctx context.Context, target string) (*Link, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link to %s: %w", target, err)
	}
	l := &Link{target: target, listener: listener, changed: make(chan struct{}), open: map[*wire]struct{}{}}
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.wg.Go(l.accept)
	l.wg.Go(func() { <-l.ctx.Done(); l.hangUp() })
	return l, nil
}

// Address is where the link listens, as host:port.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Set changes what becomes of connections, those that are open and those to come. It does nothing
// after Close.
func (l *Link) Set(mode Mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode = mode
	close(l.changed)
	l.changed = make(chan struct{})
	if mode == Refused {
		l.cut()
	}
}

// Counts of the link so far.
func (l *Link) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := Counts{Opened: int(l.opened.Load()), Unanswered: int(l.unanswered.Load()), Missed: int(l.missed.Load())}
	for w := range l.open {
		if w.waiting.Load() {
			c.InFlight++
		}
	}
	return c
}

// Close ends the link and its connections, and returns when nothing of it runs.
func (l *Link) Close() {
	l.cancel()
	l.wg.Wait()
}

func (l *Link) hangUp() {
	_ = l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut()
}

// cut needs the lock.
func (l *Link) cut() {
	for w := range l.open {
		w.cut.Store(true)
		w.reset()
	}
}

func (l *Link) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return // closed: nothing else ends the listener of a loopback port
		}
		l.wg.Go(func() { l.serve(conn) })
	}
}

// serve forwards one connection until either side ends.
func (l *Link) serve(client net.Conn) {
	w := &wire{client: client}
	if !l.passable(w) {
		w.reset()
		return
	}
	var err error
	if w.backend, err = (&net.Dialer{Timeout: dialTimeout}).DialContext(l.ctx, "tcp", l.target); err != nil {
		l.miss(w)
		w.reset() // as the target would have done
		return
	}
	l.opened.Add(1)
	if !l.enter(w) {
		l.miss(w)
		w.reset()
		return
	}
	defer l.exit(w)
	var back sync.WaitGroup
	back.Go(func() {
		l.copy(w, client, w.backend, false)
		if w.waiting.Swap(false) && !w.cut.Load() && !w.left.Load() {
			l.unanswered.Add(1)
		}
	})
	l.copy(w, w.backend, client, true)
	w.left.Store(true)
	back.Wait()
	_ = client.Close()
	_ = w.backend.Close()
}

// enter says whether the connection may go on.
func (l *Link) enter(w *wire) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mode == Refused || l.ctx.Err() != nil {
		return false
	}
	l.open[w] = struct{}{}
	return true
}

func (l *Link) exit(w *wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, w)
}

// miss counts a connection that found nobody, once.
func (l *Link) miss(w *wire) {
	if !w.missed.Swap(true) {
		l.missed.Add(1)
	}
}

// copy forwards one direction, and passes its end on. What fails is passed on as a reset, so that
// nobody takes half an answer for a whole one.
func (l *Link) copy(w *wire, to, from net.Conn, asks bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			w.waiting.Store(asks)
			if asks && !l.passable(w) || !asks && !l.passable(nil) {
				err = net.ErrClosed
			} else if _, failed := to.Write(buffer[:n]); failed != nil {
				err = failed
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
			return
		case err != nil:
			w.reset()
			return
		}
	}
}

// passable waits while the link is silent, and says whether it forwards then. Where it does not now,
// the connection is counted as one that found nobody.
func (l *Link) passable(w *wire) bool {
	for {
		l.mu.Lock()
		mode, changed := l.mode, l.changed
		l.mu.Unlock()
		if mode != Open && w != nil {
			l.miss(w)
		}
		if mode != Silent {
			return mode == Open && l.ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-l.ctx.Done():
			return false
		}
	}
}

// wire is one connection.
type wire struct {
	client, backend net.Conn    // backend is nil before it was reached
	waiting         atomic.Bool // the client spoke last
	left            atomic.Bool // the client has ended its side
	cut             atomic.Bool // the link ended it
	missed          atomic.Bool // it is counted
}

// reset ends both sides the way a port without a server would.
func (w *wire) reset() {
	for _, conn := range []net.Conn{w.client, w.backend} {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
			_ = tcp.Close()
		}
	}
}
