// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apitransport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// DefaultPatience is longer than a working API server takes for all but few requests.
	DefaultPatience = 3 * time.Second
	// DefaultSilence is longer than two bookmarks of a watch are apart.
	DefaultSilence = 150 * time.Second
)

// Options of a Transport. Only New is required.
type Options struct {
	// New returns a transport with connections of its own.
	New func() (http.RoundTripper, error)
	// Patience is how long a request waits for the header of its response before later ones are sent over a new
	// connection. Connections are not replaced more often. Defaults to DefaultPatience.
	Patience time.Duration
	// Silence is how long nothing may arrive on a watch. Half of it is how long the header of any response may take,
	// which is more than the minute after which the API server itself gives up. Defaults to DefaultSilence.
	Silence time.Duration
	// Metrics counts what is noticed. Defaults to metrics that nothing exposes.
	Metrics *Metrics
}

// Transport sends requests to an API server.
type Transport struct {
	options Options

	mu      sync.Mutex // guards what follows
	current *connections
	waiting map[*http.Request]time.Time // for the header of a response
	failure string                      // of the last response that was not the API server's
	failed  time.Time
}

var _ http.RoundTripper = (*Transport)(nil)

// connections are those of one transport of New.
type connections struct {
	http.RoundTripper
	began    time.Time
	used     int // by requests whose responses are not read yet
	replaced bool
}

// New returns a Transport, or the error of Options.New.
func New(o Options) (*Transport, error) {
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	if o.Silence <= 0 {
		o.Silence = DefaultSilence
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	t := &Transport{options: o, waiting: map[*http.Request]time.Time{}}
	var err error
	t.current, err = t.connect()
	return t, err
}

func (t *Transport) connect() (*connections, error) {
	made, err := t.options.New()
	if err != nil {
		return nil, fmt.Errorf("transport to the API server: %w", err)
	}
	if bounded, ok := innermost(made).(*http.Transport); ok {
		bounded.ResponseHeaderTimeout = t.options.Silence / 2
	}
	return &connections{RoundTripper: apistatus.Transport(made), began: time.Now()}, nil
}

// innermost returns the transport that others wrap.
func innermost(t http.RoundTripper) http.RoundTripper {
	for {
		outer, ok := t.(utilnet.RoundTripperWrapper)
		if !ok {
			return t
		}
		t = outer.WrappedRoundTripper()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	over := t.begin(r)
	impatient := time.AfterFunc(t.options.Patience, func() { t.replace(over) })
	response, err := over.RoundTrip(r)
	impatient.Stop()
	if err != nil && errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		t.replace(over)
	}
	t.end(r, err)
	if err != nil {
		t.release(over)
		return nil, err
	}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/eviction") {
		// client-go would wait ten times for as long as a disruption budget asks for, which is 100 s, and hold a worker.
		response.Header.Del("Retry-After")
	}
	if r.URL.Query().Has("watch") {
		response.Body = t.newWatchBody(response.Body, r, func() { t.replace(over) })
	}
	response.Body = &usingBody{response.Body, sync.OnceFunc(func() { t.release(over) })}
	return response, nil
}

// usingBody is a body whose connection is in use until it is closed.
type usingBody struct {
	io.ReadCloser
	release func()
}

func (b *usingBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (t *Transport) WrappedRoundTripper() http.RoundTripper {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current.RoundTripper
}

func (t *Transport) begin(r *http.Request) *connections {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[r] = time.Now()
	t.current.used++
	return t.current
}

// end is called with the header of the response, or the error.
func (t *Transport) end(r *http.Request, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, r)
	var foreign *apistatus.ForeignResponseError
	if errors.As(err, &foreign) {
		t.failure, t.failed = foreign.Error(), time.Now()
		t.options.Metrics.foreign.Inc()
	}
}

// release closes connections that were replaced once their last request has ended: a transport keeps its idle ones for
// a minute and a half. It forgets a request shortly after its body is closed, and until then takes the connection for
// one in use.
func (t *Transport) release(over *connections) {
	t.mu.Lock()
	defer t.mu.Unlock()
	over.used--
	if over.replaced && over.used == 0 {
		time.AfterFunc(forgottenAfter, func() {
			panics.Go("connections", func() { utilnet.CloseIdleConnectionsFor(over.RoundTripper) })
		})
	}
}

// forgottenAfter is how long after its end a transport has forgotten a request.
const forgottenAfter = time.Second

// replace has later requests sent over new connections. Those that wait keep theirs: an answer that is late is one.
func (t *Transport) replace(silent *connections) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != silent || time.Since(silent.began) < t.options.Patience {
		return
	}
	next, err := t.connect()
	if err != nil {
		return // as of certificates that cannot be read now: the old ones are used on
	}
	silent.replaced = true
	t.current = next
	t.options.Metrics.replaced.Inc()
}

// failureShown is how long Status shows a response that was not the API server's.
const failureShown = time.Minute

// Status returns the problem that there is now, in words, and an empty string where none is known.
func (t *Transport) Status() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var longest *http.Request
	for r, since := range t.waiting {
		if time.Since(since) > t.options.Patience && (longest == nil || since.Before(t.waiting[longest])) {
			longest = r
		}
	}
	switch {
	case longest != nil:
		return fmt.Sprintf("no response to %s %s for %s", longest.Method, longest.URL.Path, time.Since(t.waiting[longest]).Round(time.Second))
	case t.failure != "" && time.Since(t.failed) < failureShown:
		return fmt.Sprintf("%s, %s ago", t.failure, time.Since(t.failed).Round(time.Second))
	default:
		return t.options.Metrics.silent(t.options.Silence / 2)
	}
}
