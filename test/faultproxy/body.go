// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"time"
)

// body reads the body of a response of the API server chunk by chunk, and applies the faults that are active when a chunk arrives.
type body struct {
	io.Closer
	from      *bufio.Reader
	ctx       context.Context // of the request
	proxy     *Proxy
	request   Request
	began     time.Time                           // when the response began; Fault.Old compares it
	readChunk func(*bufio.Reader) ([]byte, error) // of a watch, a chunk is one event
	unread    []byte                              // the part of a chunk that the client has not read yet
}

// chunkSize is the size of the chunks of a body that is no watch, in bytes.
const chunkSize = 4 << 10

func (p *Proxy) newBody(response *http.Response, request Request) *body {
	b := &body{
		Closer: response.Body, from: bufio.NewReaderSize(response.Body, chunkSize),
		ctx: response.Request.Context(), proxy: p, request: request, began: time.Now(),
	}
	switch {
	case request.Verb != "watch":
		b.readChunk = readBytes
	case strings.Contains(response.Header.Get("Content-Type"), "protobuf"):
		b.readChunk = readFrame
	default:
		b.readChunk = func(r *bufio.Reader) ([]byte, error) { return r.ReadBytes('\n') }
	}
	return b
}

// readBytes reads up to chunkSize bytes.
func readBytes(r *bufio.Reader) ([]byte, error) {
	chunk := make([]byte, chunkSize)
	n, err := r.Read(chunk)
	return chunk[:n], err
}

// readFrame reads one event of a watch in protobuf: four bytes with its length, and the event.
func readFrame(r *bufio.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, len(length)+int(binary.BigEndian.Uint32(length[:])))
	copy(frame, length[:])
	_, err := io.ReadFull(r, frame[len(length):])
	return frame, err
}

func (b *body) Read(into []byte) (int, error) {
	for len(b.unread) == 0 {
		chunk, readErr := b.readChunk(b.from)
		isPassed, err := b.pass(len(chunk))
		if err != nil {
			return 0, err
		}
		if isPassed {
			b.unread = chunk
		}
		if readErr != nil && len(b.unread) == 0 {
			return 0, readErr
		}
	}
	n := copy(into, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}

// pass waits while faults hold a chunk of a size back. It then reports whether the chunk reaches the client, or is lost. It fails if the
// request ends meanwhile.
func (b *body) pass(size int) (bool, error) {
	for {
		mute, lose, rate := b.proxy.bodyFaults(b.request, b.began)
		var lifted <-chan struct{}
		wait := time.Duration(0)
		switch {
		case mute != nil:
			lifted, wait = mute.lifted, time.Hour
		case lose:
			return false, nil
		case rate > 0:
			wait = time.Duration(size) * time.Second / time.Duration(rate)
		}
		if wait == 0 {
			return true, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-b.ctx.Done():
			timer.Stop()
			return false, b.ctx.Err()
		case <-lifted:
			timer.Stop()
		case <-timer.C:
			return true, nil
		}
	}
}

// bodyFaults returns the active faults of the body of a request that began at a time. For a watch, mute is the fault that holds its
// events back, and lose reports that an event is dropped. rate is in bytes a second; 0 means no bound. Fault.Old leaves watches
// alone that began after the fault was added: a test can so break one watch while the client opens another that works.
func (p *Proxy) bodyFaults(r Request, began time.Time) (mute *Active, lose bool, rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.faults {
		if !a.fault.Match(r) {
			continue
		}
		if r.Verb == "watch" && (!a.fault.Old || began.Before(a.added)) {
			if a.fault.Lose {
				a.struck++
				lose = true
			}
			if a.fault.Mute {
				mute = a
			}
		}
		if a.fault.Rate > 0 {
			rate = a.fault.Rate
		}
	}
	return mute, lose, rate
}
