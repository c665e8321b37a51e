// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

const (
	// smallBody is how many bytes of a body every connection may send. Reviews of our kinds take a few
	// kilobytes.
	smallBody = 64 << 10

	// A caller has slack, and the time that it takes at leastPace, in bytes per second, to send a body or
	// to read an answer. While others wait for the memory that it holds, it may keep the server waiting
	// for grace for each leastPace bytes of a body.
	slack     = 2 * time.Second
	leastPace = 256 << 10

	// longestWait bounds the wait for a turn. Half of what the caller itself waits may be less: the rest is
	// for another replica.
	longestWait = 10 * time.Second
)

// What is heard of a body whose request was refused, in bytes and in time.
const (
	maxHeard = 64 << 20
	hearing  = 5 * time.Second
)

// turn is a request's way through the server: it sends its body, at a pace, waits for its turn when all of
// that is there, is worked on, and takes its answer, at a pace. What it holds on the way, others lack.
type turn struct {
	io.ReadCloser // the body
	server        *Server
	request       *http.Request
	control       *http.ResponseController
	conn          *connection
	path, source  string

	began  time.Time     // without the time that it waited
	lost   time.Duration // when it began: for how long this process had not run
	read   int64
	weight weight
	ended  bool // all of the body is there
	failed error
	gone   atomic.Bool // it is cut off

	granted int64  // how far the body may be read
	body    places // of the memory for bodies, beyond smallBody
	slot    *place // of its path, or of the memory for work where that is much
}

func (s *Server) turn(w http.ResponseWriter, r *http.Request, path string) *turn {
	conn, _ := r.Context().Value(connectionKey{}).(*connection)
	t := &turn{
		ReadCloser: r.Body, server: s, request: r, control: http.NewResponseController(w), conn: conn,
		path: path, source: sourceOf(r.RemoteAddr), began: time.Now(), lost: s.pauses.Lost(), granted: smallBody,
	}
	t.pace()
	return t
}

// connectionKey is for the connection in the context of a request.
type connectionKey struct{}

// pace sets the time by which more of the body must be there.
func (t *turn) pace() {
	t.body.slow(t.cut, 0)
	paused := t.server.pauses.Lost() - t.lost // which is not the caller's fault
	t.readBy(t.began.Add(slack + paused + time.Duration(t.read)*time.Second/leastPace))
}

// readBy sets a deadline, which only fails where there is no connection.
func (t *turn) readBy(at time.Time) {
	_ = t.control.SetReadDeadline(at)
	if t.gone.Load() {
		t.cut()
	}
}

func (t *turn) Read(p []byte) (int, error) {
	if t.failed != nil {
		return 0, t.failed
	}
	if t.read >= t.granted && !t.ended {
		if t.failed = t.more(); t.failed != nil {
			return 0, t.failed
		}
	}
	if int64(len(p)) > t.granted-t.read {
		p = p[:max(t.granted-t.read, 0)]
	}
	t.body.wait(true)
	n, err := t.ReadCloser.Read(p)
	t.body.wait(false)
	before := t.read
	t.read += int64(n)
	t.weight.add(p[:n])
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		t.failed = review.Refuse(http.StatusRequestTimeout, "the body came too slowly: %d bytes in %s; %d a second are wanted, after %s",
			t.read, time.Since(t.began).Round(time.Millisecond), leastPace, slack)
		err = t.failed
	case !t.ended && (errors.Is(err, io.EOF) || t.read == t.request.ContentLength):
		if t.failed = t.arrived(); t.failed != nil {
			err = t.failed
		}
	case before/leastPace != t.read/leastPace:
		t.pace()
	}
	return n, err
}

// more waits for the memory of what comes next of the body: as much as has come already, so that one that is
// announced and does not come takes none.
func (t *turn) more() error {
	next := max(t.read, leastPace)
	if t.request.ContentLength >= 0 {
		next = min(next, t.request.ContentLength-t.read)
	}
	t.body.slow(t.cut, slack) // it is the server that lets it wait
	p, err := t.enter(t.server.bodies, t.source, next)
	if err != nil {
		return err
	}
	t.body = append(t.body, p)
	t.granted += next
	t.pace()
	return nil
}

// arrived waits for the turn of a request whose body is there.
func (t *turn) arrived() (err error) {
	t.ended = true
	// Its end cancels the request, so it outlasts whatever is done about that.
	t.conn.at(working)
	t.body.slow(nil, 0)
	t.readBy(time.Now().Add(t.server.options.ReadTimeout))
	if cost := t.weight.cost(); cost > lightWork {
		t.slot, err = t.enter(t.server.work, t.path+" of "+t.source, max(cost, t.server.work.size/int64(t.server.heavy)))
	} else {
		t.slot, err = t.enter(t.server.slots.of(t.path), t.source, 1)
	}
	return err
}

// enter waits at a gate. The error is a refusal.
func (t *turn) enter(g *gate, source string, n int64) (*place, error) {
	start := time.Now()
	p, err := g.enter(t.request.Context(), source, n, review.Timeout(t.request.URL, 2*longestWait)/2)
	t.began = t.began.Add(time.Since(start))
	if err != nil {
		return nil, review.Refuse(http.StatusServiceUnavailable, "this replica has too much to do, and another one should be asked: %v", err)
	}
	return p, nil
}

// answer begins: others may work now. A caller that does not take its answer is cut off.
func (t *turn) answer(code, size int) {
	t.slot.leave()
	t.slot = nil
	t.body.slow(t.cut, time.Duration(size)*time.Second/leastPace)
	if code < http.StatusBadRequest {
		t.conn.prove()
	}
	t.conn.at(sending)
	_ = t.control.SetWriteDeadline(time.Now().Add(slack + time.Duration(size)*time.Second/leastPace))
	if t.gone.Load() {
		t.cut()
	}
}

// cut ends reading and writing.
func (t *turn) cut() {
	t.gone.Store(true)
	past := time.Unix(1, 0)
	_ = errors.Join(t.control.SetReadDeadline(past), t.control.SetWriteDeadline(past))
}

// leave gives back what is held, once the request is answered and its body no longer needed.
func (t *turn) leave() {
	t.slot.leave()
	t.body.leave()
	t.slot, t.body = nil, nil
}

// hearOut sends a refusal off and drops what is still coming of the body. A connection that is
// closed on unread bytes is reset, and a caller that was still sending would be told just that
// instead of what to do about its request.
func (t *turn) hearOut() {
	if t.ended || t.request.ContentLength == 0 || t.read == 0 && t.request.Header.Get("Expect") != "" {
		return // nothing more is coming
	}
	end := time.Now().Add(hearing)
	if t.control.Flush() != nil || t.control.SetReadDeadline(end) != nil || t.control.SetWriteDeadline(end.Add(slack)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, t.ReadCloser, maxHeard)
}
