// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Timeout is how long an answer may take: at most limit, and at most what the API server
// waits (the query parameter timeout, which it sends with every webhook call), less a tenth of that,
// so that the answer still reaches it.
func Timeout(asked *url.URL, limit time.Duration) time.Duration {
	if patience, err := time.ParseDuration(parameter(asked, "timeout")); err == nil && patience > 0 {
		return min(limit, patience-patience/10)
	}
	return limit
}

// WithTimeout bounds a request's context by its Timeout. Most requests are answered before a caller waits
// for that end, so that the timer is made for the first who does.
func WithTimeout(ctx context.Context, asked *url.URL, limit time.Duration) (context.Context, context.CancelFunc) {
	limit = Timeout(asked, limit)
	d := &deadline{Context: ctx, at: time.Now().Add(limit), limit: limit}
	return d, d.end
}

// deadline is the context of a request, with an end.
type deadline struct {
	context.Context
	at    time.Time
	limit time.Duration

	mu    sync.Mutex
	timed context.Context // with the timer; nil until it is needed
	stop  context.CancelFunc
	ended bool
}

// timer makes the context that really ends. A caller that derives one from this asks it for a value, and so
// derives it from that.
func (d *deadline) timer() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.stop = context.WithDeadlineCause(d.Context, d.at, TimeoutError(d.limit))
		if d.ended {
			d.stop()
		}
	}
	return d.timed
}

func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	if d.stop != nil {
		d.stop()
	}
}

// Deadline is the earlier one of this and of the request's own.
func (d *deadline) Deadline() (time.Time, bool) {
	if earlier, has := d.Context.Deadline(); has && earlier.Before(d.at) {
		return earlier, true
	}
	return d.at, true
}

func (d *deadline) Done() <-chan struct{} { return d.timer().Done() }

func (d *deadline) Value(key any) any { return d.timer().Value(key) }

// Err returns nil before the deadline, without a timer.
func (d *deadline) Err() error {
	d.mu.Lock()
	running := d.timed == nil && !d.ended && d.Context.Err() == nil && time.Now().Before(d.at)
	d.mu.Unlock()
	if running {
		return nil
	}
	return d.timer().Err()
}

// parameter reads a query. One of a single plain parameter, as the API server writes it, costs no
// parsing.
func parameter(asked *url.URL, name string) string {
	if value, is := strings.CutPrefix(asked.RawQuery, name+"="); is && !strings.ContainsAny(value, "&;%+") {
		return value
	}
	return asked.Query().Get(name)
}

// TimeoutError reports work that took longer than this. Error formats it only when it is called.
type TimeoutError time.Duration

func (limit TimeoutError) Error() string {
	return fmt.Sprintf("no time left to answer within %s: %v", time.Duration(limit), context.DeadlineExceeded)
}

// Unwrap is context.DeadlineExceeded.
func (TimeoutError) Unwrap() error { return context.DeadlineExceeded }
