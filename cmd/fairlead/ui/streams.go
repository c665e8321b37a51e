// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// coalesced is how long changes are gathered before pages learn of them.
	coalesced = time.Second
	// heartbeat is how often a stream says that it lasts, so that one whose page is gone ends.
	heartbeat = 20 * time.Second
)

// streams tell open pages that something has changed.
type streams struct {
	version atomic.Uint64 // of the model
	told    atomic.Uint64 // of the model that pages were told of, which is what they show
	ended   chan struct{}

	mu   sync.Mutex
	open map[chan struct{}]struct{}
}

// change counts a change of the model.
func (s *streams) change() { s.version.Add(1) }

// run sends each stream an event when the model has changed, at most one a second, until the context ends.
func (s *streams) run(ctx context.Context) {
	defer close(s.ended)
	every := time.NewTicker(coalesced)
	defer every.Stop()
	s.told.Store(s.version.Load())
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		version := s.version.Load()
		if s.told.Swap(version) == version {
			continue
		}
		s.mu.Lock()
		for one := range s.open {
			select {
			case one <- struct{}{}:
			default: // it has one to read already
			}
		}
		s.mu.Unlock()
	}
}

// add opens a stream, unless there are too many.
func (s *streams) add() (chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxStreams {
		return nil, false
	}
	one := make(chan struct{}, 1)
	s.open[one] = struct{}{}
	return one, true
}

func (s *streams) remove(one chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
}

// serve is a stream of server-sent events without content: a page loads itself again.
func (s *streams) serve(w http.ResponseWriter, r *http.Request) {
	changed, isOpen := s.add()
	if !isOpen {
		http.Error(w, "Too many pages are open.", http.StatusServiceUnavailable)
		return
	}
	defer s.remove(changed)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	every := time.NewTicker(heartbeat)
	defer every.Stop()
	for text := ": open\n\n"; ; {
		// Without a deadline that can be set, the stream ends with that of the response, and the page opens another.
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := io.WriteString(w, text); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		case <-changed:
			text = "event: change\ndata:\n\n"
		case <-every.C:
			text = ": open\n\n"
		}
	}
}
