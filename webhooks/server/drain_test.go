// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/pauses/pausetest"
)

// slow responds when a test lets it, and reports whether its context lived until then.
type slow struct {
	entered chan struct{}
	leave   chan struct{}
}

func newSlow() *slow { return &slow{entered: make(chan struct{}, 10), leave: make(chan struct{})} }

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.entered <- struct{}{}
	<-s.leave
	_, _ = fmt.Fprintf(w, "context: %v", r.Context().Err())
}

type reply struct {
	body  string
	close bool
	err   error
}

func get(client *http.Client, url string) reply {
	response, err := client.Get(url)
	if err != nil {
		return reply{err: err}
	}
	body, err := io.ReadAll(response.Body)
	return reply{string(body), response.Close, errors.Join(err, response.Body.Close())}
}

func TestDrainFinishesWhatIsInFlightWithALiveContext(t *testing.T) {
	handler := newSlow()
	r := start(t, nil, func(s *Server) { s.Register("/slow", handler) })
	r.waitReady(t)
	client := r.client()
	replies := make(chan reply, 1)
	go func() { replies <- get(client, r.url("/slow")) }()
	<-handler.entered

	r.stop()
	r.waitNotReady(t, "draining")
	eventually(t, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", r.Addr().String())
		if err == nil {
			closing(t, conn)
		}
		return err != nil
	})
	select {
	case err := <-r.stopped:
		t.Fatalf("Start returned while a request was in flight: %v", err)
	default:
	}
	close(handler.leave)
	if got := <-replies; got.err != nil || got.body != "context: <nil>" || !got.close {
		t.Errorf("the request in flight got %+v", got)
	}
	if err := <-r.stopped; err != nil {
		t.Errorf("Start returned %v", err)
	}
	if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("after the stop Ready is %v", err)
	}
}

func TestDuringTheDelayEverythingIsAnsweredAndConnectionsAreGivenUp(t *testing.T) {
	const delay = time.Second
	pausetest.Retry(t, func() error {
		r := start(t, func(o *Options) { o.DrainDelay = delay }, func(s *Server) {
			s.Register("/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
		})
		r.waitReady(t)
		client := r.client()
		if got := get(client, r.url("/")); got.err != nil || got.close {
			return fmt.Errorf("before the stop a request got %+v", got)
		}
		begin := time.Now()
		r.stop()
		eventually(t, "it drains", r.draining.Load)
		// The first goes over the connection that was kept, the second over a new one.
		for range 2 {
			if got := get(client, r.url("/")); got.err != nil || got.body != "ok" || !got.close {
				return fmt.Errorf("while draining a request got %+v", got)
			}
		}
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "draining") {
			return errors.Join(errors.New("not draining"), err)
		}
		if err := <-r.stopped; err != nil {
			t.Errorf("Start returned %v", err)
		}
		if took := time.Since(begin); took < delay {
			t.Errorf("it stopped after %s, before the delay of %s", took, delay)
		}
		return nil
	})
}

func TestDrainGivesUpAtItsTimeout(t *testing.T) {
	handler := newSlow()
	r := start(t, func(o *Options) { o.DrainTimeout = 50 * time.Millisecond }, func(s *Server) { s.Register("/slow", handler) })
	r.waitReady(t)
	replies := make(chan reply, 1)
	go func() { replies <- get(r.client(), r.url("/slow")) }()
	<-handler.entered
	r.stop()
	if err := <-r.stopped; err == nil || !strings.Contains(err.Error(), "1 requests were still in flight after 50ms") {
		t.Errorf("Start returned %v", err)
	}
	if got := <-replies; got.err == nil {
		t.Errorf("the request that was cut off got %+v", got)
	}
	close(handler.leave)
}

func TestAStopBeforeTheStartEndsAtOnce(t *testing.T) {
	r := start(t, nil)
	r.stop()
	if err := <-r.stopped; err != nil {
		t.Errorf("Start returned %v", err)
	}
}

func TestAnIdleConnectionDoesNotHoldUpTheStop(t *testing.T) {
	r := start(t, nil, func(s *Server) { s.Register("/", http.NotFoundHandler()) })
	r.waitReady(t)
	roots := x509.NewCertPool()
	roots.AddCert(r.authority.root)
	conn, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{RootCAs: roots, ServerName: serverName})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, conn)
	_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r.stop()
	if err := <-r.stopped; err != nil || time.Since(begin) > DefaultDrainTimeout/2 {
		t.Errorf("Start returned %v after %s", err, time.Since(begin))
	}
}

// What the API server calls webhooks by has the default of net/http.
func TestAnIdleConnectionIsClosedByTheAPIServerAndNotByThisOne(t *testing.T) {
	if client := http.DefaultTransport.(*http.Transport).IdleConnTimeout; idleTimeout <= client {
		t.Errorf("an idle connection is closed after %s, and by its client after %s", idleTimeout, client)
	}
}

// A client may dial ahead and send its first request much later; net/http drops that request once
// Shutdown has been called.
func TestARequestOnAConnectionDialedAheadIsAnsweredWhileDraining(t *testing.T) {
	pausetest.Retry(t, func() error {
		r := start(t, func(o *Options) { o.DrainDelay = maxQuiet }, func(s *Server) {
			s.Register("/late", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in time") }))
		})
		r.waitReady(t)
		roots := x509.NewCertPool()
		roots.AddCert(r.authority.root)
		ahead, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{RootCAs: roots, ServerName: serverName})
		if err != nil {
			return err
		}
		defer closing(t, ahead)

		r.stop()
		eventually(t, "new connections are refused", func() bool {
			conn, err := net.Dial("tcp", r.Addr().String())
			if err == nil {
				closing(t, conn)
			}
			return err != nil
		})
		if _, err := io.WriteString(ahead, "GET /late HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		response, err := http.ReadResponse(bufio.NewReader(ahead), nil)
		if err != nil {
			return fmt.Errorf("the request was lost: %w", err)
		}
		body, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil || string(body) != "in time" || !response.Close {
			return errors.Join(err, fmt.Errorf("answered %q, close %v", body, response.Close))
		}
		return <-r.stopped
	})
}
