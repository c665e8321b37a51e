// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apitransport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// network makes transports. Each transport is a connection. A request of a connection that is dead waits for ever.
type network struct {
	mu     sync.Mutex
	made   int
	dead   map[int]bool
	late   time.Duration // of answers
	closed []int
	body   func() io.ReadCloser
	err    error
}

type wire struct {
	*network
	number int
}

func (n *network) connect() (http.RoundTripper, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return nil, n.err
	}
	n.made++
	return &wire{n, n.made}, nil
}

func (w *wire) CloseIdleConnections() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = append(w.closed, w.number)
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	dead, late := w.dead[w.number], w.late
	w.mu.Unlock()
	if dead {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	select {
	case <-time.After(late):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Over": {string(rune('0' + w.number))}}, Body: http.NoBody, Request: r}
	if w.body != nil {
		response.Body = w.body()
	}
	return response, nil
}

// bench is a Transport over a network, in a bubble.
type bench struct {
	*testing.T
	*network
	*Transport
}

func run(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &network{dead: map[int]bool{}}
		transport, err := New(Options{New: n.connect})
		if err != nil {
			t.Fatal(err)
		}
		test(&bench{t, n, transport})
	})
}

// get returns the number of the connection that a request went over, or its error.
func (b *bench) get(ctx context.Context, path string) (string, *http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api"+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	response, err := b.RoundTrip(r)
	if err != nil {
		return "", nil, err
	}
	return response.Header.Get("Over"), response, nil
}

// fails returns the error of a request whose response is not read.
func (b *bench) fails(ctx context.Context, path string) error {
	_, response, err := b.get(ctx, path)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

// over fails the test unless a request is answered over a connection.
func (b *bench) over(want string) {
	b.Helper()
	got, response, err := b.get(b.Context(), "/version")
	if err != nil || got != want {
		b.Errorf("over connection %q, want %q: %v", got, want, err)
		return
	}
	_ = response.Body.Close()
}

func TestAConnectionThatDiedSilentlyIsReplacedAfterOneRequest(t *testing.T) {
	run(t, func(b *bench) {
		b.over("1")
		<-time.After(time.Minute)
		b.dead[1] = true
		waiting, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.fails(waiting, "/api/v1/pods") }()
		<-time.After(DefaultPatience + time.Second)
		b.over("2")
		if got := b.Status(); got != "no response to GET /api/v1/pods for 4s" {
			b.Errorf("the status is %q", got)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			b.Errorf("the request that waits: %v", err)
		}
		<-time.After(2 * forgottenAfter)
		if b.Status() != "" || len(b.closed) != 1 || b.closed[0] != 1 || b.metric("fairlead_apiserver_connections_replaced_total") != 1 {
			b.Errorf("status %q, closed %v, replaced %v", b.Status(), b.closed, b.metric("fairlead_apiserver_connections_replaced_total"))
		}
	})
}

func TestARequestThatTimesOutSoonerReplacesTheConnectionToo(t *testing.T) {
	run(t, func(b *bench) {
		<-time.After(time.Minute)
		b.dead[1] = true
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		if err := b.fails(ctx, "/version"); !errors.Is(err, context.DeadlineExceeded) {
			b.Errorf("got %v", err)
		}
		b.over("2")
	})
}

func TestASlowServerGetsOneConnectionInATimeAndItsAnswersArrive(t *testing.T) {
	run(t, func(b *bench) {
		b.late = 2 * DefaultPatience
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := b.fails(b.Context(), "/version"); err != nil {
					b.Error(err)
				}
			})
			<-time.After(100 * time.Millisecond)
		}
		all.Wait()
		if b.made > 1+int((2*time.Second+b.late)/DefaultPatience) {
			b.Errorf("%d connections", b.made)
		}
		if b.late = 0; b.Status() != "" {
			b.Errorf("status %q", b.Status())
		}
	})
}

// A response that is still read, be it a list or a watch, keeps its connection.
func TestAReplacedConnectionIsClosedOnceNothingIsReadFromIt(t *testing.T) {
	run(t, func(b *bench) {
		<-time.After(time.Minute)
		b.body = func() io.ReadCloser { return io.NopCloser(strings.NewReader("[]")) }
		var reading []io.Closer
		for _, path := range []string{"/api/v1/pods", "/api/v1/pods?watch=true"} {
			_, response, err := b.get(b.Context(), path) //nolint:bodyclose // it is closed below
			if err != nil {
				b.Fatal(err)
			}
			reading = append(reading, response.Body)
		}
		b.replace(b.current)
		for _, body := range reading {
			<-time.After(2 * forgottenAfter)
			if len(b.closed) > 0 {
				b.Error("closed while a response is read")
			}
			for range 2 { // to close twice is allowed
				_ = body.Close()
			}
		}
		<-time.After(2 * forgottenAfter)
		if !slices.Equal(b.closed, []int{1}) {
			b.Errorf("closed %v", b.closed)
		}
	})
}

func TestAConnectionThatCannotBeReplacedIsUsedOn(t *testing.T) {
	run(t, func(b *bench) {
		b.err = errors.New("no certificate")
		b.late = 2 * DefaultPatience
		b.over("1")
		b.over("1")
	})
	if _, err := New(Options{New: func() (http.RoundTripper, error) { return nil, errors.New("no certificate") }}); err == nil {
		t.Error("a transport without a connection")
	}
}

func TestAWatchThatFallsSilentEndsAndTheNextGoesOverAnotherConnection(t *testing.T) {
	run(t, func(b *bench) {
		from, events := io.Pipe()
		b.body = func() io.ReadCloser { return from }
		_, response, err := b.get(b.Context(), "/apis/coordination.k8s.io/v1/namespaces/a/leases?watch=true")
		if err != nil {
			b.Fatal(err)
		}
		read := make([]byte, 10)
		for range 5 {
			<-time.After(DefaultSilence - time.Second)
			go func() { _, _ = events.Write([]byte("event")) }()
			if n, err := response.Body.Read(read); err != nil || string(read[:n]) != "event" {
				b.Errorf("read %q: %v", read[:n], err)
			}
		}
		go func() {
			<-time.After(DefaultSilence * 3 / 4)
			b.silentFor("nothing has arrived on the watch of leases.coordination.k8s.io for 1m53s")
		}()
		began := time.Now()
		if _, err := response.Body.Read(read); !errors.Is(err, io.EOF) || time.Since(began) != DefaultSilence {
			b.Errorf("after %s the silent watch has %v", time.Since(began), err)
		}
		if err := response.Body.Close(); err != nil {
			b.Error(err)
		}
		<-time.After(2 * forgottenAfter)
		if !slices.Equal(b.closed, []int{1}) {
			b.Errorf("closed %v", b.closed)
		}
		b.body = nil
		b.over("2")
		if got := b.metric("fairlead_apiserver_silent_watches_total"); got != 1 || b.Status() != "" {
			b.Errorf("%v watches ended, status %q", got, b.Status())
		}
	})
}

func (b *bench) silentFor(want string) {
	if got := b.Status(); got != want {
		b.Errorf("status %q, want %q", got, want)
	}
	if got := b.metric("fairlead_apiserver_watch_silence_seconds"); got != (DefaultSilence * 3 / 4).Seconds() {
		b.Errorf("the metric of its age is %v", got)
	}
}

// metric returns the value of a metric that has one series at most, or 0.
func (b *bench) metric(name string) float64 {
	b.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(b.options.Metrics)
	families, err := registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue() + family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return 0
}

func TestAWatchThatIsEndedEndsAndAListThatIsCutOffFails(t *testing.T) {
	run(t, func(b *bench) {
		for path, want := range map[string]error{"/api/v1/secrets?watch=true": io.EOF, "/api/v1/secrets": io.ErrClosedPipe} {
			from, _ := io.Pipe()
			b.body = func() io.ReadCloser { return from }
			ctx, cancel := context.WithCancel(b.Context())
			_, response, err := b.get(ctx, path)
			if err != nil {
				b.Fatal(err)
			}
			cancel()
			_ = from.Close()                                                                                  // as net/http does
			if _, err := io.ReadAll(response.Body); !errors.Is(err, want) && (want != io.EOF || err != nil) { //nolint:errorlint // of this test
				b.Errorf("%s ends by %v", path, err)
			}
			_ = response.Body.Close()
		}
	})
}

func TestAForeignResponseIsCountedAndShown(t *testing.T) {
	run(t, func(b *bench) {
		page := http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader("<html>")), Header: http.Header{}}
		foreign, err := New(Options{New: func() (http.RoundTripper, error) {
			return roundTripper(func(*http.Request) (*http.Response, error) { return &page, nil }), nil
		}})
		if err != nil {
			b.Fatal(err)
		}
		b.Transport = foreign
		if err := b.fails(b.Context(), "/version"); err == nil {
			b.Error("the page of a proxy is an answer")
		}
		if b.metric("fairlead_apiserver_foreign_responses_total") != 1 || !strings.HasSuffix(b.Status(), "responded, 0s ago") {
			b.Errorf("counted %v, status %q", b.metric("fairlead_apiserver_foreign_responses_total"), b.Status())
		}
		if <-time.After(failureShown); b.Status() != "" {
			b.Errorf("status %q after a minute", b.Status())
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
