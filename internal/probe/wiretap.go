// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net"
	"sync"
	"time"
)

// wiretap notes what befalls a connection that is in another library's hands, and whether the other
// side speaks HTTP/2: its first frame has to be SETTINGS.
type wiretap struct {
	net.Conn

	mu      sync.Mutex
	first   [frameHeader]byte
	read    int
	failure error
	ended   bool
}

const (
	frameHeader   = 9
	frameType     = 3
	frameSettings = 4
)

func (w *wiretap) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read < frameHeader {
		copy(w.first[w.read:], b[:n])
	}
	w.read += n
	w.note(err)
	return n, err
}

func (w *wiretap) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(err)
	return n, err
}

// note keeps the first failure that is not of our own making.
func (w *wiretap) note(err error) {
	if err != nil && w.failure == nil && !w.ended {
		w.failure = err
	}
}

// The deadline of the probe is set already, and holds.

func (w *wiretap) SetDeadline(time.Time) error      { return nil }
func (w *wiretap) SetReadDeadline(time.Time) error  { return nil }
func (w *wiretap) SetWriteDeadline(time.Time) error { return nil }

// end has every read and write return.
func (w *wiretap) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	_ = w.Conn.SetDeadline(time.Unix(1, 0)) // one that cannot be cut is closed already
}

// seen says whether the other side spoke HTTP/2, and returns the first failure.
func (w *wiretap) seen() (http2 bool, failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read >= frameHeader && w.first[frameType] == frameSettings, w.failure
}

// cut is the word for a connection that ended before the other side spoke HTTP/2: it said nothing, or
// something else.
func (w *wiretap) cut() outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read == 0 {
		return reset
	}
	return protocolError
}
