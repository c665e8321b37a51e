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

// What is read and dropped of a body whose request was refused, in bytes and in time.
const (
	maxDrained = 64 << 20
	drainTime  = 5 * time.Second
)

// boundedBody is the body of a request, and what the request holds on its way: it sends its body, at a pace,
// waits for its turn when all of that is there, is worked on, and takes its answer, at a pace. What it holds,
// others lack.
type boundedBody struct {
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

func (s *Server) boundBody(w http.ResponseWriter, r *http.Request, path string) *boundedBody {
	conn, _ := r.Context().Value(connectionKey{}).(*connection)
	b := &boundedBody{
		ReadCloser: r.Body, server: s, request: r, control: http.NewResponseController(w), conn: conn,
		path: path, source: sourceOf(r.RemoteAddr), began: time.Now(), lost: s.pauses.Lost(), granted: smallBody,
	}
	b.pace()
	return b
}

// connectionKey is for the connection in the context of a request.
type connectionKey struct{}

// pace sets the time by which more of the body must be there.
func (b *boundedBody) pace() {
	b.body.slow(b.cut, 0)
	paused := b.server.pauses.Lost() - b.lost // which is not the caller's fault
	b.readBy(b.began.Add(slack + paused + time.Duration(b.read)*time.Second/leastPace))
}

// readBy sets a deadline, which only fails where there is no connection.
func (b *boundedBody) readBy(at time.Time) {
	_ = b.control.SetReadDeadline(at)
	if b.gone.Load() {
		b.cut()
	}
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	if b.read >= b.granted && !b.ended {
		if b.failed = b.more(); b.failed != nil {
			return 0, b.failed
		}
	}
	if int64(len(p)) > b.granted-b.read {
		p = p[:max(b.granted-b.read, 0)]
	}
	b.body.wait(true)
	n, err := b.ReadCloser.Read(p)
	b.body.wait(false)
	before := b.read
	b.read += int64(n)
	b.weight.add(p[:n])
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.failed = review.Refuse(http.StatusRequestTimeout, "the body came too slowly: %d bytes in %s; %d a second are wanted, after %s",
			b.read, time.Since(b.began).Round(time.Millisecond), leastPace, slack)
		err = b.failed
	case !b.ended && (errors.Is(err, io.EOF) || b.read == b.request.ContentLength):
		if b.failed = b.arrived(); b.failed != nil {
			err = b.failed
		}
	case before/leastPace != b.read/leastPace:
		b.pace()
	}
	return n, err
}

// more waits for the memory of what comes next of the body: as much as has come already, so that one that is
// announced and does not come takes none.
func (b *boundedBody) more() error {
	next := max(b.read, leastPace)
	if b.request.ContentLength >= 0 {
		next = min(next, b.request.ContentLength-b.read)
	}
	b.body.slow(b.cut, slack) // it is the server that lets it wait
	p, err := b.enter(b.server.bodies, b.source, next)
	if err != nil {
		return err
	}
	b.body = append(b.body, p)
	b.granted += next
	b.pace()
	return nil
}

// arrived waits for the turn of a request whose body is there.
func (b *boundedBody) arrived() (err error) {
	b.ended = true
	// Its end cancels the request, so it outlasts whatever is done about that.
	b.conn.at(working)
	b.body.slow(nil, 0)
	b.readBy(time.Now().Add(ReadTimeout))
	if cost := b.weight.cost(); cost > lightWork {
		b.slot, err = b.enter(b.server.work, b.path+" of "+b.source, max(cost, b.server.work.size/int64(b.server.heavy)))
	} else {
		b.slot, err = b.enter(b.server.slots.of(b.path), b.source, 1)
	}
	return err
}

// enter waits at a gate. The error is a refusal.
func (b *boundedBody) enter(g *gate, source string, n int64) (*place, error) {
	start := time.Now()
	p, err := g.enter(b.request.Context(), source, n, review.Timeout(b.request.URL, 2*longestWait)/2)
	b.began = b.began.Add(time.Since(start))
	if err != nil {
		return nil, review.Refuse(http.StatusServiceUnavailable, "this replica has too much to do, and another one should be asked: %v", err)
	}
	return p, nil
}

// answer begins: others may work now. A caller that does not take its answer is cut off.
func (b *boundedBody) answer(code, size int) {
	b.slot.leave()
	b.slot = nil
	b.body.slow(b.cut, time.Duration(size)*time.Second/leastPace)
	if code < http.StatusBadRequest {
		b.conn.prove()
	}
	b.conn.at(sending)
	_ = b.control.SetWriteDeadline(time.Now().Add(slack + time.Duration(size)*time.Second/leastPace))
	if b.gone.Load() {
		b.cut()
	}
}

// cut ends reading and writing.
func (b *boundedBody) cut() {
	b.gone.Store(true)
	past := time.Unix(1, 0)
	_ = errors.Join(b.control.SetReadDeadline(past), b.control.SetWriteDeadline(past))
}

// leave gives back what is held, once the request is answered and its body no longer needed.
func (b *boundedBody) leave() {
	b.slot.leave()
	b.body.leave()
	b.slot, b.body = nil, nil
}

// drain sends a refusal off and drops what is still coming of the body. A connection that is
// closed on unread bytes is reset, and a caller that was still sending would get just that error
// instead of what to do about its request.
func (b *boundedBody) drain() {
	if b.ended || b.request.ContentLength == 0 || b.read == 0 && b.request.Header.Get("Expect") != "" {
		return // nothing more is coming
	}
	end := time.Now().Add(drainTime)
	if b.control.Flush() != nil || b.control.SetReadDeadline(end) != nil || b.control.SetWriteDeadline(end.Add(slack)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, b.ReadCloser, maxDrained)
}
