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

// handler wraps the mux with what all webhooks need: bounds, client authentication, metrics and recovery from panics.
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
		defer body.release()
		out := &response{ResponseWriter: w, draining: s.draining.Load, body: body}
		defer func() {
			s.metrics.seconds.WithLabelValues(path).Observe(time.Since(start).Seconds())
			s.metrics.requests.WithLabelValues(path, strconv.Itoa(out.code)).Inc()
		}()
		// This check comes first: a caller without the right must take neither memory nor a slot.
		if err := s.clientAuth.authorize(r, path); err != nil {
			review.Refuse(http.StatusForbidden, "%s", err).Respond(out)
			return
		}
		if r.ContentLength == 0 { // a request with a body waits for a slot after its body is read
			if err := body.awaitTurn(); err != nil { //nolint:contextcheck // it has the context of the request
				review.Refuse(http.StatusServiceUnavailable, "%s", err).Respond(out)
				return
			}
		}
		r.Body = body
		defer s.recoverPanic(out, path)
		s.mux.ServeHTTP(out, r)
		if out.code == 0 {
			out.WriteHeader(http.StatusOK)
		}
		if out.code >= http.StatusBadRequest {
			body.release() // frees the slot before the rest of the body is discarded
			body.drain()
		}
	})
}

// unmatched is the label of all paths that are not registered.
const unmatched = "unmatched"

// kept are the headers that this server and its handlers read.
var kept = []string{"Connection", "Content-Encoding", "Content-Type", "Expect", "Traceparent"}

// keepHeaders removes all headers except kept. Parsed headers can take a hundred times the memory of their text, until
// the body is read.
func keepHeaders(r *http.Request) {
	all := r.Header
	r.Header = make(http.Header, len(kept))
	for _, name := range kept {
		if values, has := all[name]; has {
			r.Header[name] = values[:1]
		}
	}
}

// recoverPanic recovers from the panic of a handler. Handlers of reviews recover from those of converters and rules
// themselves.
func (s *Server) recoverPanic(out *response, path string) {
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
		// Part of the response is already sent. Only a closed connection shows the client that it is incomplete.
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http offers no other way to do it
	}
	review.Refuse(http.StatusInternalServerError, "the webhook panicked; the operator's log has the stack").Respond(out)
}

// response records the status code. While the server drains, it closes the connection after the response.
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
	r.body.beginResponse(r.code, len(body))
	return r.ResponseWriter.Write(body)
}
