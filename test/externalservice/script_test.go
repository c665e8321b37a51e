// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// script is an HTTP server that answers requests one by one as it was told.
type script struct {
	mu    sync.Mutex // guards what follows
	after bool       // how it answers once nothing is left
	left  string     // "+" is a good answer and "-" a bad one
	bad   int
	times []time.Time
	gate  chan struct{}
}

// listen opens a socket at an address outside, for a server of a test's own.
func (s *suite) listen(at string) net.Listener {
	s.Helper()
	local, err := externalnet.LocalPort(netip.MustParseAddrPort(at))
	s.Must(err)
	listener, err := net.Listen("tcp4", local.String())
	s.Must(err)
	s.Cleanup(func() { _ = listener.Close() })
	return listener
}

// serve has a handler answer at an address outside until the test ends.
func (s *suite) serve(at string, handler http.Handler) {
	s.Helper()
	listener := s.listen(at)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(listener) })
	s.Cleanup(func() {
		_ = server.Close()
		work.Wait()
	})
}

// blurts has a listener answer whatever it is sent with the same text, until the test ends.
func (s *suite) blurts(listener net.Listener, answer string) {
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				if _, err := conn.Read(make([]byte, 4096)); err != nil {
					return
				}
				_, _ = io.WriteString(conn, answer)
			})
		}
	})
	s.Cleanup(func() {
		_ = listener.Close()
		work.Wait()
	})
}

// says has a listener be a gRPC server that fails every call with a message, until the test ends.
func (s *suite) says(listener net.Listener, message string) {
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		stream.SetTrailer(metadata.Pairs("x-"+message, message))
		return status.Error(codes.Unavailable, message)
	}))
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(listener) })
	s.Cleanup(func() {
		server.Stop()
		work.Wait()
	})
}

// scripted opens a server that answers well or not. The test can change that.
func (s *suite) scripted(at string, well bool) *script {
	s.Helper()
	p := &script{after: well}
	s.serve(at, p)
	return p
}

// play tells how the next requests are answered; the last of them stays.
func (p *script) play(answers string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.after = answers, strings.HasSuffix(answers, "+")
}

// played is nil once nothing is left.
func (p *script) played() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left != "" {
		return fmt.Errorf("%q is still to be answered", p.left)
	}
	return nil
}

// hold has requests wait until release is called.
func (p *script) hold() (release func()) {
	gate := make(chan struct{})
	p.mu.Lock()
	p.gate = gate
	p.mu.Unlock()
	return sync.OnceFunc(func() { close(gate) })
}

// failures is how often it answered badly.
func (p *script) failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bad
}

// asked waits until there were so many requests, and returns when.
func (p *script) asked(s *suite, n int) []time.Time {
	s.Helper()
	var times []time.Time
	s.Eventually(func() error {
		p.mu.Lock()
		times = append([]time.Time(nil), p.times...)
		p.mu.Unlock()
		if len(times) < n {
			return fmt.Errorf("%d requests so far, waiting for %d", len(times), n)
		}
		return nil
	})
	return times[:n]
}

func (p *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.times = append(p.times, time.Now())
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	p.mu.Lock()
	well := p.after
	if p.left != "" {
		well = p.left[0] == '+'
		p.left = p.left[1:]
	}
	if !well {
		p.bad++
	}
	p.mu.Unlock()
	if !well {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}
