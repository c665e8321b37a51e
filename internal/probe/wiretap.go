// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net"
	"sync"
	"time"
)

// recordingConn notes what befalls a connection that is in another library's hands, and whether the other
// side speaks HTTP/2: its first frame has to be SETTINGS.
type recordingConn struct {
	net.Conn

	mu         sync.Mutex
	firstFrame [frameHeader]byte
	read       int
	failure    error
	ended      bool
}

const (
	frameHeader   = 9
	frameType     = 3
	frameSettings = 4
)

func (w *recordingConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read < frameHeader {
		copy(w.firstFrame[w.read:], b[:n])
	}
	w.read += n
	w.record(err)
	return n, err
}

func (w *recordingConn) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record(err)
	return n, err
}

// record keeps the first failure that is not of our own making.
func (w *recordingConn) record(err error) {
	if err != nil && w.failure == nil && !w.ended {
		w.failure = err
	}
}

// The deadline of the probe is set already, and holds.

func (w *recordingConn) SetDeadline(time.Time) error      { return nil }
func (w *recordingConn) SetReadDeadline(time.Time) error  { return nil }
func (w *recordingConn) SetWriteDeadline(time.Time) error { return nil }

// abort has every read and write return.
func (w *recordingConn) abort() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	_ = w.Conn.SetDeadline(time.Unix(1, 0)) // one that cannot be cut is closed already
}

// result says whether the other side spoke HTTP/2, and returns the first failure.
func (w *recordingConn) result() (http2 bool, failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read >= frameHeader && w.firstFrame[frameType] == frameSettings, w.failure
}

// earlyEnd is the word for a connection that ended before the other side spoke HTTP/2: it said nothing, or
// something else.
func (w *recordingConn) earlyEnd() outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read == 0 {
		return reset
	}
	return protocolError
}
