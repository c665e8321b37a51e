// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// smallBody is how many bytes of a body every request may send. Reviews of our kinds take a few
// kilobytes.
const smallBody = 1 << 20

// What is heard of a body whose request was refused, in bytes and in time.
const (
	maxHeard = 64 << 20
	hearing  = 5 * time.Second
)

// turnedBody lets a body go on past smallBody only once there is a place for a large one. Anybody
// who reaches the port may send bodies up to the limit; without this the process would hold as
// many of them as requests are worked on at once.
type turnedBody struct {
	io.ReadCloser
	ctx    context.Context
	places chan struct{}
	read   int64
	held   bool
	ended  bool // all of it was read
}

func (b *turnedBody) Read(p []byte) (int, error) {
	if !b.held && b.read >= smallBody {
		select {
		case b.places <- struct{}{}:
			b.held = true
		case <-b.ctx.Done():
			return 0, context.Cause(b.ctx)
		}
	}
	if !b.held && int64(len(p)) > smallBody-b.read {
		p = p[:smallBody-b.read]
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// hearOut sends a refusal off and drops what is still coming of the body. A connection that is
// closed on unread bytes is reset, and a caller that was still sending would be told just that
// instead of what to do about its request.
func (b *turnedBody) hearOut(w http.ResponseWriter, r *http.Request) {
	if b.ended || r.ContentLength == 0 || b.read == 0 && r.Header.Get("Expect") != "" {
		return // nothing more is coming
	}
	control := http.NewResponseController(w)
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(hearing)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, b.ReadCloser, maxHeard)
}

// release gives the place back, once the request is answered and its body no longer needed.
func (b *turnedBody) release() {
	if b.held {
		<-b.places
		b.held = false
	}
}
