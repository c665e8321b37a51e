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
	// smallBody is how many bytes of a body every connection may send without a permit. Reviews of our kinds have a few
	// kilobytes.
	smallBody = 64 << 10

	// A caller may take slack to send a body or to read a response, plus the time at leastPace, in bytes per second.
	// While others wait for the memory that it holds, it has less time: grace for each leastPace bytes of a body.
	slack     = 2 * time.Second
	leastPace = 256 << 10

	// longestWait bounds the wait for a turn. If the caller itself has less than twice that time, the bound is half of
	// its time. The rest is for another replica.
	longestWait = 10 * time.Second
)

// maxDrained, in bytes, and drainTime bound what is read and dropped of the body of a refused request.
const (
	maxDrained = 64 << 20
	drainTime  = 5 * time.Second
)

// boundedBody is the body of a request, with the permits that the request holds. The caller must send the body at a
// minimum rate. Once the body is complete, the request waits for its turn and is processed. The caller must then read
// the response at a minimum rate. Other requests cannot use what this one holds.
type boundedBody struct {
	io.ReadCloser // the body
	server        *Server
	request       *http.Request
	control       *http.ResponseController
	conn          *connections.Conn
	path, source  string

	began    time.Time     // moved forward by the time that it waited for permits
	lost     time.Duration // pauses.Lost() at began
	read     int64
	weight   weight
	complete bool // whether the whole body has arrived
	err      error
	aborted  atomic.Bool // whether the caller is cut off

	granted int64   // how many bytes may be read
	body    permits // permits for the memory of the body beyond smallBody
	slot    *permit // a slot of its path, or memory for a request that is much work
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

// extendReadDeadline sets the time by which the next part of the body must arrive.
func (b *boundedBody) extendReadDeadline() {
	b.body.allowEviction(b.abort, 0)
	paused := b.server.pauses.Lost() - b.lost // the time that this process did not run is not the caller's fault
	b.setReadDeadline(b.began.Add(slack + paused + time.Duration(b.read)*time.Second/leastPace))
}

// setReadDeadline sets a deadline. It fails only without a connection, as in tests.
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

// reserve waits for the memory of the next part of the body. The next part is as large as what has arrived, so that a
// body that is announced and does not arrive takes none.
func (b *boundedBody) reserve() error {
	next := max(b.read, leastPace)
	if b.request.ContentLength >= 0 {
		next = min(next, b.request.ContentLength-b.read)
	}
	b.body.allowEviction(b.abort, slack) // the caller is not slow while the server makes it wait
	p, err := b.acquire(b.server.bodies, b.source, next)
	if err != nil {
		return err
	}
	b.body = append(b.body, p)
	b.granted += next
	b.extendReadDeadline()
	return nil
}

// awaitTurn waits until the request may be processed. Its body must be complete.
func (b *boundedBody) awaitTurn() (err error) {
	b.complete = true
	// When this deadline passes, the request is canceled. So it outlasts the work.
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

// acquire waits for a permit. Its error is the refusal of the request.
func (b *boundedBody) acquire(g *semaphore, source string, n int64) (*permit, error) {
	start := time.Now()
	p, err := g.acquire(b.request.Context(), source, n, review.Timeout(b.request.URL, 2*longestWait)/2)
	b.began = b.began.Add(time.Since(start))
	if err != nil {
		return nil, review.Refuse(http.StatusServiceUnavailable, "this replica is overloaded; another one should be asked: %v", err)
	}
	return p, nil
}

// beginResponse releases the slot of the request. It sets the time by which the caller must have read the response.
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

// abort stops reading from and writing to the connection.
func (b *boundedBody) abort() {
	b.aborted.Store(true)
	past := time.Unix(1, 0)
	_ = errors.Join(b.control.SetReadDeadline(past), b.control.SetWriteDeadline(past))
}

// release returns all permits. Call it once the response is sent and the body is not needed any more.
func (b *boundedBody) release() {
	b.slot.release()
	b.body.release()
	b.slot, b.body = nil, nil
}

// drain sends a refusal and discards the rest of the body. If a connection is closed while bytes are unread, TCP resets
// it. A caller that is still sending would see that error instead of the refusal.
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
