// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/metrics"
)

const (
	// maxOffset is the offset of the clock from which on it is reported, and agreedOffset the one below which it no
	// longer is. Certificates are backdated by a day and rotations allow for an hour.
	maxOffset    = 10 * time.Second
	agreedOffset = 5 * time.Second
)

// clockOffset compares the clock of this process with that of the API server, by the Date of all responses. The offset
// is a lower bound: the time that a request was under way does not count.
type clockOffset struct {
	clock  clock.PassiveClock
	logger logr.Logger
	gauge  prometheus.Gauge
	report func(message string) // called when an offset begins to be reported; it must not block

	mu       sync.Mutex
	offset   time.Duration // positive where this clock is ahead
	reported bool
	// correction is how far the latest responses prove this clock to be ahead, within their precision of a second. Now
	// subtracts it. It does not change while responses agree with it.
	correction time.Duration
}

func newClockOffset(by clock.PassiveClock, registerer prometheus.Registerer, logger logr.Logger) (*clockOffset, error) {
	gauge, err := metrics.Gauge(registerer, "fairlead_clock_offset_seconds",
		"By how much the clock of this process is ahead of the API server's, in seconds; negative where it is behind. What may be the duration of a request counts as 0.")
	if err != nil {
		return nil, err
	}
	return &clockOffset{clock: by, logger: logger, gauge: gauge.WithLabelValues(), report: func(string) {}}, nil
}

// wrap returns a transport that observes the responses of another.
func (c *clockOffset) wrap(next http.RoundTripper) http.RoundTripper { return &datedTransport{next, c} }

type datedTransport struct {
	next   http.RoundTripper
	offset *clockOffset
}

func (t *datedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := t.offset.clock.Now()
	response, err := t.next.RoundTrip(r)
	if err == nil {
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			t.offset.observe(sent, t.offset.clock.Now(), date)
		}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport, to close its idle connections.
func (t *datedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// observe records a response. Its date is the time of the API server at some moment between sending and receiving, in
// whole seconds.
func (c *clockOffset) observe(sent, received, date time.Time) {
	sent, received = sent.Round(0), received.Round(0)
	offset := offsetFrom(sent, received, date)
	c.mu.Lock()
	c.offset = offset
	c.correction += offsetFrom(sent.Add(-c.correction), received.Add(-c.correction), date)
	was := c.reported
	c.reported = offset.Abs() >= maxOffset || was && offset.Abs() >= agreedOffset
	is, message := c.reported, describeOffset(offset)
	c.mu.Unlock()
	c.gauge.Set(offset.Seconds())
	switch {
	case is && !was:
		c.logger.Info("The clock of this process and that of the API server differ", "offset", offset.String())
		c.report(message)
	case was && !is:
		c.logger.Info("The clock of this process and that of the API server agree again")
	}
}

// offsetFrom returns by how much a clock is certainly ahead, if it sent a request at sent and received its response
// with date at received.
func offsetFrom(sent, received, date time.Time) time.Duration {
	if ahead := sent.Sub(date.Add(time.Second)); ahead > 0 {
		return ahead
	}
	return min(received.Sub(date), 0)
}

// Now returns the time by the clock of the API server, within about a second. Use it for what is compared with the
// times of pods, writes and deletions, and for times in a status, which another replica may read.
func (c *clockOffset) Now() time.Time {
	now := c.clock.Now().Round(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Add(-c.correction)
}

func describeOffset(offset time.Duration) string {
	direction := "ahead of"
	if offset < 0 {
		direction = "behind"
	}
	return fmt.Sprintf("the clock is %s %s that of the API server: synchronize the clock of the node", common.DurationOf(offset.Abs().Round(time.Second)), direction)
}

// err returns the offset as an error while it is reported, and nil otherwise.
func (c *clockOffset) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reported {
		return nil
	}
	return fmt.Errorf("%s", describeOffset(c.offset))
}

// status returns the line of /statusz about the clock.
func (c *clockOffset) status() string {
	if err := c.err(); err != nil {
		return err.Error()
	}
	return "agrees with that of the API server"
}
