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

// body is that of an answer, with its faults.
type body struct {
	io.Closer
	from    *bufio.Reader
	ctx     context.Context // that of the request
	proxy   *Proxy
	request Request
	began   time.Time
	read    func(*bufio.Reader) ([]byte, error) // the next piece: one event of a watch
	rest    []byte
}

// pieceSize is how much of a body that is no watch passes at once.
const pieceSize = 4 << 10

func (p *Proxy) newBody(response *http.Response, request Request) *body {
	b := &body{
		Closer: response.Body, from: bufio.NewReaderSize(response.Body, pieceSize), ctx: response.Request.Context(), proxy: p, request: request, began: time.Now(),
	}
	switch {
	case request.Verb != "watch":
		b.read = readPiece
	case strings.Contains(response.Header.Get("Content-Type"), "protobuf"):
		b.read = readFrame
	default:
		b.read = func(r *bufio.Reader) ([]byte, error) { return r.ReadBytes('\n') }
	}
	return b
}

func readPiece(r *bufio.Reader) ([]byte, error) {
	piece := make([]byte, pieceSize)
	n, err := r.Read(piece)
	return piece[:n], err
}

// readFrame reads one event in protobuf, behind its length.
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
	for len(b.rest) == 0 {
		piece, err := b.read(b.from)
		if passes, failed := b.pass(len(piece)); failed != nil {
			return 0, failed
		} else if passes {
			b.rest = piece
		}
		if err != nil && len(b.rest) == 0 {
			return 0, err
		}
	}
	n := copy(into, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// pass waits for as long as faults hold a piece back, and reports whether it passes then.
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

// bodyFaults are the faults that hold now for the body of a request.
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
