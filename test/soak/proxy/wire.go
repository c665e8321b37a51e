// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net"
	"sync"
	"time"
)

// Loss is a call that could not be answered any more.
type Loss struct {
	// Held says that the far side had the call, or was opening its connection, when it ended or was cut
	// off. Otherwise the call was sent when there was no listener.
	Held bool
	// From and To enclose the moment at which the call was lost.
	From, To time.Time

	noted bool
}

// maxLosses bounds what a proxy remembers of them.
const maxLosses = 1000

// handshake is how often a client has spoken, at most, when it is still shaking hands.
const handshake = 1

// goodbye is how many bytes a client takes at most to end a connection: an alert of TLS 1.2, which is the
// longest. No call is as short, and an idle connection that the far side ends is answered by one.
const goodbye = 31

// wire is one connection, whose client sends one call at a time. So no more than one is lost with it,
// unless it was answered after all: a client gives a connection up where a call failed.
type wire struct {
	client, backend net.Conn // backend is nil before it was reached
	opened          time.Time

	mu      sync.Mutex // guards what follows
	said    int        // how much the client said since it was answered
	spoke   time.Time  // when it began to
	waiting bool       // it said more than goodbye
	turns   int        // how often it has spoken
	left    bool       // it has ended its side
	ended   time.Time  // when the far side had; zero before
	loss    *Loss      // of the call, or of the one that the connection is opened for; nil before
}

// ask is that the client said so many bytes. It is a loss where it is no longer received, and the same
// loss once more where the connection was lost before: its opener may have been served by
// another one, and left this one to the next call.
func (w *wire) ask(n int, now time.Time) *Loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said == 0 {
		w.spoke = now
	}
	w.said += n
	if !w.waiting && w.said > goodbye {
		w.waiting = true
		w.turns++
	}
	switch {
	case !w.waiting:
		return nil
	case w.loss != nil:
		return w.loss
	case w.ended.IsZero():
		return nil
	}
	// It may have been sent at any time since then: what is under way is seen late.
	return w.lose(false, w.ended, now)
}

// answer records that the far side spoke, and informs the client.
func (w *wire) answer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting, w.said, w.loss = false, 0, nil
}

// leave is that the client has no more to say.
func (w *wire) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = true
}

// miss is that the client came, or spoke, and found no listener.
func (w *wire) miss(now time.Time) *Loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loseIfAsked(false, now)
}

// end is that the far side ended. With it ends what it was asked, and a connection that it was opening.
func (w *wire) end(now time.Time) *Loss {
	loss := w.cutOff(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended.IsZero() {
		w.ended = now
	}
	return loss
}

// cutOff is that the far side cannot be reached for now.
func (w *wire) cutOff(now time.Time) *Loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left || !w.ended.IsZero() {
		return nil
	}
	return w.loseIfAsked(true, now)
}

// loseIfAsked needs the lock. There is nothing to lose where the connection is open and idle.
func (w *wire) loseIfAsked(held bool, now time.Time) *Loss {
	switch {
	case w.waiting:
		return w.lose(held, w.spoke, now)
	case w.turns <= handshake:
		return w.lose(held, w.opened, now)
	}
	return nil
}

// lose needs the lock.
func (w *wire) lose(held bool, from, to time.Time) *Loss {
	if w.loss == nil {
		w.loss = &Loss{Held: held, From: from, To: to}
	}
	return w.loss
}

func (w *wire) wasLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loss != nil
}

// isWaiting says whether the client may still get a response.
func (w *wire) isWaiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting && w.ended.IsZero()
}

// reset ends both sides the way a port without a server would.
func (w *wire) reset() {
	hangUp(w.client)
	hangUp(w.backend)
}

// hangUp ends one side by a reset.
func hangUp(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
		_ = tcp.Close()
	}
}

// closeWrite says that no more comes.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
