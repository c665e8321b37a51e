// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/fairlead-dev/fairlead/webhooks/internal/review"
)

// handler is the mux with everything around it that all webhooks need.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keepHeaders(r)
		if r.URL.Path == selfPath {
			s.serveSelf(w, r)
			return
		}
		_, path := s.mux.Handler(r)
		if path == "" {
			path = unmatched // what a caller sends never becomes a label
		}
		s.inFlight.Add(1)
		defer s.inFlight.Add(-1)
		gauge := s.metrics.inFlight.WithLabelValues(path)
		gauge.Inc()
		defer gauge.Dec()
		start := time.Now()
		body := s.boundBody(w, r, path)
		defer body.leave()
		out := &response{ResponseWriter: w, draining: s.draining.Load, body: body}
		defer func() {
			s.metrics.seconds.WithLabelValues(path).Observe(time.Since(start).Seconds())
			s.metrics.requests.WithLabelValues(path, strconv.Itoa(out.code)).Inc()
		}()
		// Before anything is taken that others may need.
		if err := s.clientAuth.authorize(r, path); err != nil {
			review.Refuse(http.StatusForbidden, "%s", err).Respond(out)
			return
		}
		if r.ContentLength == 0 { // otherwise the turn is that of the whole body
			if err := body.arrived(); err != nil { //nolint:contextcheck // it has the context of the request
				review.Refuse(http.StatusServiceUnavailable, "%s", err).Respond(out)
				return
			}
		}
		r.Body = body
		defer s.contain(out, path)
		s.mux.ServeHTTP(out, r)
		if out.code == 0 {
			out.WriteHeader(http.StatusOK)
		}
		if out.code >= http.StatusBadRequest {
			body.leave() // others need not wait for what is dropped
			body.drain()
		}
	})
}

// unmatched stands for all paths that are not registered.
const unmatched = "unmatched"

// kept are the headers that this server and its handlers look at.
var kept = []string{"Connection", "Content-Encoding", "Content-Type", "Expect"}

// keepHeaders forgets the other ones, which may take a hundred times the memory of their text, for as long
// as a caller takes to send its body.
func keepHeaders(r *http.Request) {
	all := r.Header
	r.Header = make(http.Header, len(kept))
	for _, name := range kept {
		if values, has := all[name]; has {
			r.Header[name] = values[:1]
		}
	}
}

// contain keeps a panic to its request. Handlers of reviews contain their own; this is for what
// slips through.
func (s *Server) contain(out *response, path string) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) //nolint:forbidigo // net/http's own way to drop a connection, and it recovers it
	}
	s.metrics.panics.WithLabelValues(path).Inc()
	s.log.Error(fmt.Errorf("panic: %v", p), "A webhook panicked", "path", path, "stack", string(debug.Stack()))
	if out.code != 0 {
		// Half an answer went out already; a cut connection is the only honest end of it.
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http offers no other way to do it
	}
	review.Refuse(http.StatusInternalServerError, "the webhook panicked; the operator's log has the stack").Respond(out)
}

// response remembers the code, and closes the connection of an answer given while draining.
type response struct {
	http.ResponseWriter
	draining func() bool
	body     *boundedBody
	code     int
}

// Unwrap is for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *response) WriteHeader(code int) {
	if r.code == 0 && code >= http.StatusOK {
		r.code = code
		if r.draining() {
			r.Header().Set("Connection", "close")
		}
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *response) Write(body []byte) (int, error) {
	if r.code == 0 {
		r.WriteHeader(http.StatusOK)
	}
	r.body.answer(r.code, len(body))
	return r.ResponseWriter.Write(body)
}
