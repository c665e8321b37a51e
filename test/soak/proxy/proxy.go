// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

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

// Mode is the way in which a proxy treats connections.
type Mode int

const (
	// Open forwards.
	Open Mode = iota
	// Refused ends all connections, and new ones at once, as a host without a server does.
	Refused
	// Silent forwards nothing, and ends nothing: as a network that drops packets does.
	Silent
)

const dialTimeout = 5 * time.Second

// Counts counts the connections and bytes of a proxy.
type Counts struct {
	// Opened is how many connections were opened.
	Opened int
	// InFlight is on how many of them the client spoke last, and waits.
	InFlight int
	// Unanswered is how many were lost while the far side had them, and Missed how many found no listener.
	// See Loss.
	Unanswered, Missed int
}

// Proxy forwards one port of loopback to another. Its methods may be called from any goroutine.
type Proxy struct {
	target   string
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	opened atomic.Int64

	mu      sync.Mutex // guards what follows
	mode    Mode
	changed chan struct{} // closed at the next change of mode
	open    map[*wire]struct{}
	losses  []*Loss
	counts  Counts // of losses
}

// Listen starts an open proxy to a target, host:port, until Close is called or ctx ends.
func Listen(ctx context.Context, target string) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link to %s: %w", target, err)
	}
	l := &Proxy{target: target, listener: listener, changed: make(chan struct{}), open: map[*wire]struct{}{}}
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.wg.Go(l.accept)
	l.wg.Go(func() { <-l.ctx.Done(); l.hangUp() })
	return l, nil
}

// Address is where the proxy listens, as host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Set changes what becomes of connections, those that are open and those to come. It does nothing
// after Close.
func (p *Proxy) Set(mode Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	close(p.changed)
	p.changed = make(chan struct{})
	now := time.Now()
	for w := range p.open {
		switch mode {
		case Open:
		case Refused:
			p.note(w.end(now), now)
			hangUp(w.backend) // which ends the rest in its turn
		case Silent:
			p.note(w.cutOff(now), now)
		}
	}
}

// Counts of the proxy so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counts
	c.Opened = int(p.opened.Load())
	for w := range p.open {
		if w.isWaiting() {
			c.InFlight++
		}
	}
	return c
}

// Losses are the calls that were lost so far, the first maxLosses of them, in the order in which they
// were noticed. Those of connections that wait in silence last until now: what their clients say is
// not read before the silence ends.
func (p *Proxy) Losses() []Loss {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == Silent {
		now := time.Now()
		for w := range p.open {
			p.note(w.cutOff(now), now)
		}
	}
	losses := make([]Loss, 0, len(p.losses))
	for _, loss := range p.losses {
		losses = append(losses, *loss)
	}
	return losses
}

// Close ends the proxy and its connections, and returns when nothing of it runs.
func (p *Proxy) Close() {
	p.cancel()
	p.wg.Wait()
}

func (p *Proxy) hangUp() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.open {
		w.reset()
	}
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed: nothing else ends the listener of a loopback port
		}
		p.wg.Go(func() { p.serve(conn) })
	}
}

// serve forwards one connection until either side ends.
func (p *Proxy) serve(client net.Conn) {
	w := &wire{client: client, opened: time.Now()}
	if !p.passable(w, nil) {
		w.reset()
		return
	}
	var err error
	if w.backend, err = (&net.Dialer{Timeout: dialTimeout}).DialContext(p.ctx, "tcp", p.target); err != nil {
		p.lost(w.miss(time.Now()))
		w.reset() // as the target would have done
		return
	}
	p.opened.Add(1)
	if !p.enter(w) {
		p.lost(w.miss(time.Now()))
		w.reset()
		return
	}
	defer p.exit(w)
	var back sync.WaitGroup
	back.Go(func() { p.answer(w) })
	p.ask(w)
	back.Wait()
	_ = client.Close()
	_ = w.backend.Close()
}

// enter says whether the connection may go on.
func (p *Proxy) enter(w *wire) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == Refused || p.ctx.Err() != nil {
		return false
	}
	p.open[w] = struct{}{}
	return true
}

func (p *Proxy) exit(w *wire) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, w)
}

// lost notes what has become a loss, or still is one; nil is none.
func (p *Proxy) lost(loss *Loss) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(loss, time.Now())
}

// note needs the lock. What ends with the proxy itself is not a loss.
func (p *Proxy) note(loss *Loss, now time.Time) {
	if loss == nil || p.ctx.Err() != nil {
		return
	}
	loss.To = now
	if loss.noted {
		return
	}
	loss.noted = true
	if loss.Held {
		p.counts.Unanswered++
	} else {
		p.counts.Missed++
	}
	if len(p.losses) < maxLosses {
		p.losses = append(p.losses, loss)
	}
}

// ask forwards what the client says until it has no more to say, also when it is no longer received.
func (p *Proxy) ask(w *wire) {
	buffer := make([]byte, bufferSize)
	for {
		n, err := w.client.Read(buffer)
		if n > 0 {
			p.lost(w.ask(n, time.Now()))
			if !p.passable(w, nil) {
				err = net.ErrClosed
			} else if _, failed := w.backend.Write(buffer[:n]); failed != nil {
				p.lost(w.miss(time.Now()))
				err = failed
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			w.leave()
			closeWrite(w.backend)
			return
		case err != nil:
			w.leave()
			w.reset()
			return
		}
	}
}

// answer forwards what the far side says until it ends. That is passed on as it came: by a reset where
// a call was cut short by one, so that no client takes half a response for a whole one.
func (p *Proxy) answer(w *wire) {
	buffer := make([]byte, bufferSize)
	for {
		n, err := w.backend.Read(buffer)
		passes := p.passable(nil, func() {
			if n > 0 {
				w.answer() // before the client hears it, who may go on at once
			}
		})
		if n > 0 && passes {
			if _, failed := w.client.Write(buffer[:n]); failed != nil {
				w.reset()
				return
			}
		}
		if err == nil && passes {
			continue
		}
		p.lost(w.end(time.Now()))
		if w.wasLost() && !errors.Is(err, io.EOF) {
			w.reset()
			return
		}
		closeWrite(w.client)
		return
	}
}

// bufferSize is the number of bytes that a direction of a connection reads at once.
const bufferSize = 32 << 10

// passable waits while the proxy is silent, and says whether it forwards then. Where it does, it calls then
// before anybody can change that. Where it does not now, the connection is counted as one that found no
// listener.
func (p *Proxy) passable(w *wire, then func()) bool {
	for {
		p.mu.Lock()
		mode, changed := p.mode, p.changed
		if mode != Open && w != nil {
			now := time.Now()
			p.note(w.miss(now), now)
		}
		if mode == Open && then != nil {
			then()
		}
		p.mu.Unlock()
		if mode != Silent {
			return mode == Open && p.ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-p.ctx.Done():
			return false
		}
	}
}
