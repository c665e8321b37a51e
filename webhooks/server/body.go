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

	"github.com/fairlead-dev/fairlead/internal/connections"
)

const (
	// smallBody is how many bytes of a body every connection may send. Reviews of our kinds take a few
	// kilobytes.
	smallBody = 64 << 10

	// A caller has slack, and the time that it takes at leastPace, in bytes per second, to send a body or
	// to read a response. While others wait for the memory that it holds, it may keep the server waiting
	// for grace, for each leastPace bytes of a body.
	slack     = 2 * time.Second
	leastPace = 256 << 10

	// longestWait bounds the wait for a turn. Half of what the caller itself waits may be less: the rest is
	// for another replica.
	longestWait = 10 * time.Second
)

// What is read and dropped of a body whose request was refused, in bytes and in time.
const (
	maxDrained = 64 << 20
	drainTime  = 5 * time.Second
)

// boundedBody is the body of a request, and the permits that the request holds. Its caller sends the body at a
// minimum rate; once the body is complete, the request waits for its turn and is processed; then its caller
// reads the response at a minimum rate. What one request holds, others cannot have.
type boundedBody struct {
	io.ReadCloser // the body
	server        *Server
	request       *http.Request
	control       *http.ResponseController
	conn          *connections.Conn
	path, source  string

	began    time.Time     // without the time that it waited
	lost     time.Duration // when it began: for how long this process had not run
	read     int64
	weight   weight
	complete bool // all of the body is there
	err      error
	aborted  atomic.Bool // it is cut off

	granted int64   // how far the body may be read
	body    permits // of the memory for bodies, beyond smallBody
	slot    *permit // of its path, or of the memory for work where it needs much
}

func (s *Server) boundBody(w http.ResponseWriter, r *http.Request, path string) *boundedBody {
	conn := connections.FromContext(r.Context())
	b := &boundedBody{
		ReadCloser: r.Body, server: s, request: r, control: http.NewResponseController(w), conn: conn,
		path: path, source: connections.Source(r.RemoteAddr), began: time.Now(), lost: s.pauses.Lost(), granted: smallBody,
	}
	b.extendReadDeadline()
	return b
}

// extendReadDeadline sets the time by which more of the body must be there.
func (b *boundedBody) extendReadDeadline() {
	b.body.allowEviction(b.abort, 0)
	paused := b.server.pauses.Lost() - b.lost // which is not the caller's fault
	b.setReadDeadline(b.began.Add(slack + paused + time.Duration(b.read)*time.Second/leastPace))
}

// setReadDeadline sets a deadline, which only fails where there is no connection.
func (b *boundedBody) setReadDeadline(at time.Time) {
	_ = b.control.SetReadDeadline(at)
	if b.aborted.Load() {
		b.abort()
	}
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.read >= b.granted && !b.complete {
		if b.err = b.reserve(); b.err != nil {
			return 0, b.err
		}
	}
	if int64(len(p)) > b.granted-b.read {
		p = p[:max(b.granted-b.read, 0)]
	}
	b.body.setWaiting(true)
	n, err := b.ReadCloser.Read(p)
	b.body.setWaiting(false)
	before := b.read
	b.read += int64(n)
	b.weight.add(p[:n])
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.err = review.Refuse(http.StatusRequestTimeout, "the body came too slowly: %d bytes in %s; %d a second are wanted, after %s",
			b.read, time.Since(b.began).Round(time.Millisecond), leastPace, slack)
		err = b.err
	case !b.complete && (errors.Is(err, io.EOF) || b.read == b.request.ContentLength):
		if b.err = b.awaitTurn(); b.err != nil {
			err = b.err
		}
	case before/leastPace != b.read/leastPace:
		b.extendReadDeadline()
	}
	return n, err
}

// reserve waits for the memory of the next part of the body: as much as has arrived already, so that a body
// that is announced and does not arrive takes none.
func (b *boundedBody) reserve() error {
	next := max(b.read, leastPace)
	if b.request.ContentLength >= 0 {
		next = min(next, b.request.ContentLength-b.read)
	}
	b.body.allowEviction(b.abort, slack) // the server makes the caller wait
	p, err := b.acquire(b.server.bodies, b.source, next)
	if err != nil {
		return err
	}
	b.body = append(b.body, p)
	b.granted += next
	b.extendReadDeadline()
	return nil
}

// awaitTurn waits until a request whose body is complete may be processed.
func (b *boundedBody) awaitTurn() (err error) {
	b.complete = true
	// The end of this deadline cancels the request, so it outlasts the work.
	b.conn.SetState(connections.Working)
	b.body.allowEviction(nil, 0)
	b.setReadDeadline(time.Now().Add(ReadTimeout))
	if cost := b.weight.cost(); cost > lightWork {
		b.slot, err = b.acquire(b.server.work, b.path+" of "+b.source, max(cost, b.server.work.size/int64(b.server.heavy)))
	} else {
		b.slot, err = b.acquire(b.server.slots.of(b.path), b.source, 1)
	}
	return err
}

// acquire waits for a permit. The error is a refusal.
func (b *boundedBody) acquire(g *semaphore, source string, n int64) (*permit, error) {
	start := time.Now()
	p, err := g.acquire(b.request.Context(), source, n, review.Timeout(b.request.URL, 2*longestWait)/2)
	b.began = b.began.Add(time.Since(start))
	if err != nil {
		return nil, review.Refuse(http.StatusServiceUnavailable, "this replica is overloaded; another one should be asked: %v", err)
	}
	return p, nil
}

// beginResponse releases the turn. A caller that does not read its response is cut off.
func (b *boundedBody) beginResponse(code, size int) {
	b.slot.release()
	b.slot = nil
	b.body.allowEviction(b.abort, time.Duration(size)*time.Second/leastPace)
	if code < http.StatusBadRequest {
		b.conn.MarkProven()
	}
	b.conn.SetState(connections.Sending)
	_ = b.control.SetWriteDeadline(time.Now().Add(slack + time.Duration(size)*time.Second/leastPace))
	if b.aborted.Load() {
		b.abort()
	}
}

// abort ends reading and writing.
func (b *boundedBody) abort() {
	b.aborted.Store(true)
	past := time.Unix(1, 0)
	_ = errors.Join(b.control.SetReadDeadline(past), b.control.SetWriteDeadline(past))
}

// release returns all permits, once the response is sent and the body no longer needed.
func (b *boundedBody) release() {
	b.slot.release()
	b.body.release()
	b.slot, b.body = nil, nil
}

// drain sends a refusal and discards the rest of the body. A connection that is
// closed on unread bytes is reset, and a caller that was still sending would get just that error
// instead of what to do about its request.
func (b *boundedBody) drain() {
	if b.complete || b.request.ContentLength == 0 || b.read == 0 && b.request.Header.Get("Expect") != "" {
		return // nothing more is coming
	}
	end := time.Now().Add(drainTime)
	if b.control.Flush() != nil || b.control.SetReadDeadline(end) != nil || b.control.SetWriteDeadline(end.Add(slack)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, b.ReadCloser, maxDrained)
}
