// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// huge is where an answer that never ends does end.
const huge = 64 << 20

// newHTTP serves HTTP/1.1 on a front, over TLS where a configuration is given.
func newHTTP(f *front, secure *tls.Config) *Server {
	h := &handler{front: f}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	server := &http.Server{
		Handler: h, TLSConfig: secure, Protocols: &http1, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // clients that leave are no news
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew: // said before Serve accepts the next, so Close finds it counted
				f.work.Add(1)
			case http.StateClosed, http.StateHijacked:
				f.work.Done()
			case http.StateActive, http.StateIdle:
			}
		},
	}
	f.work.Go(func() {
		if secure == nil {
			_ = server.Serve(f)
		} else {
			_ = server.ServeTLS(f, "", "")
		}
	})
	return &Server{front: f, finish: func() { _ = server.Close() }}
}

type handler struct{ front *front }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.front.work.Add(1) // of its own, since a hijacked connection is not the server's any more
	defer h.front.work.Done()
	seen := Request{Method: r.Method, Host: r.Host, Path: r.URL.RequestURI(), UserAgent: r.UserAgent()}
	if r.TLS != nil {
		seen.ServerName = r.TLS.ServerName
	}
	h.front.counter.requested(seen)
	c := h.front.current()
	if !pause(r.Context(), h.front.done, c.Delay) {
		return
	}
	if c.Fault == HugeHeaders {
		endless(w)
		return
	}
	status := c.Status
	if c.Redirect != "" {
		w.Header().Set("Location", c.Redirect)
		if status == 0 {
			status = http.StatusFound
		}
	}
	if status == 0 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	if c.Fault == HugeBody {
		line := []byte(strings.Repeat("x", 1<<14))
		for sent := 0; sent < huge; sent += len(line) {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}
}

// endless sends headers until the client has enough.
func endless(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	raw, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer func() { _ = raw.Close() }()
	out := bufio.NewWriter(raw)
	_, _ = fmt.Fprint(out, "HTTP/1.1 200 OK\r\n")
	value := strings.Repeat("x", 1<<10)
	for i := range huge >> 10 {
		if _, err := fmt.Fprintf(out, "X-%d: %s\r\n", i, value); err != nil {
			return
		}
	}
	_, _ = fmt.Fprint(out, "Content-Length: 0\r\n\r\n")
	_ = out.Flush()
}

// pause waits, and is false where the client or the server went away before.
func pause(ctx context.Context, done <-chan struct{}, delay time.Duration) bool {
	if delay <= 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-done:
		return false
	}
}
