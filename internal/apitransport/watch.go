// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package apitransport

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// watchBody is the body of a watch. It ends, as one does that the API server ends, where nothing arrives for too long,
// and where the request is canceled: client-go makes an event of a failure, and the filter that controller-runtime puts
// around watches of metadata waits for ever for a receiver (k8s.io/apimachinery/pkg/watch, filteredWatch): a goroutine
// and its buffers for each such watch of each term.
type watchBody struct {
	io.ReadCloser
	request  *http.Request
	resource string
	silence  time.Duration
	timer    *time.Timer
	last     atomic.Int64 // when something arrived, in nanoseconds of Unix time
	silent   atomic.Bool
	metrics  *Metrics
	closing  sync.Once
}

// newWatchBody calls onSilence before it ends a watch that nothing arrives on.
func (t *Transport) newWatchBody(body io.ReadCloser, r *http.Request, onSilence func()) io.ReadCloser {
	b := &watchBody{ReadCloser: body, request: r, resource: resourceOf(r.URL.Path), silence: t.options.Silence, metrics: t.options.Metrics}
	b.last.Store(time.Now().UnixNano())
	t.options.Metrics.open(b)
	b.timer = time.AfterFunc(t.options.Silence, func() {
		b.silent.Store(true)
		t.options.Metrics.ended.WithLabelValues(b.resource).Inc()
		onSilence()
		_ = body.Close() // which ends a Read
	})
	return b
}

func (b *watchBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if n > 0 {
		b.last.Store(time.Now().UnixNano())
		b.timer.Reset(b.silence)
	}
	if err != nil && !errors.Is(err, io.EOF) && (b.silent.Load() || b.request.Context().Err() != nil) {
		err = io.EOF
	}
	return n, err
}

func (b *watchBody) Close() error {
	b.closing.Do(func() {
		b.timer.Stop()
		b.metrics.close(b)
	})
	return b.ReadCloser.Close()
}

// age is how long ago something arrived.
func (b *watchBody) age() time.Duration { return time.Since(time.Unix(0, b.last.Load())) }

// resourceOf returns the resource that a path of the API server lists, such as leases.coordination.k8s.io.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, parts = "."+parts[1], parts[3:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	return parts[0] + group
}
