// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// accepts opens n connections to a listener of so many, and returns them as the server sees them. Further
// ones come through the channel.
func accepts(t *testing.T, most, n int) (l *connections, all []*connection, further <-chan *connection) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = bound(inner, most, prometheus.NewCounter(prometheus.CounterOpts{Name: "evicted"}), func() time.Duration { return 0 })
	t.Cleanup(func() { closing(t, l) })
	accepted := make(chan *connection)
	go func() {
		defer close(accepted)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn.(*connection)
		}
	}()
	for range n {
		dial(t, l)
	}
	for range min(n, most) {
		c := <-accepted
		t.Cleanup(func() { closing(t, c) })
		all = append(all, c)
	}
	return l, all, accepted
}

func dial(t *testing.T, l *connections) {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, conn) })
}

// is sets what a connection does, and for how long it has kept the server waiting.
func (c *connection) is(p connState, proven bool, source string, ago time.Duration) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.from[c.source]--
	c.state, c.proven, c.source, c.waited = p, proven, source, ago
	c.of.from[c.source]++
}

func (l *connections) has(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, has := l.open[c]
	return has
}

func TestAConnectionAboveTheBoundTakesThePlaceOfTheWorstOne(t *testing.T) {
	const old = time.Hour
	type state struct {
		pace   connState
		proven bool
		source string
		ago    time.Duration
	}
	for name, test := range map[string]struct {
		states []state // the first one must go
	}{
		"oldest":                  {[]state{{sending, false, "a", 2 * old}, {sending, false, "a", old}}},
		"never proven":            {[]state{{idle, false, "a", old}, {sending, true, "a", 2 * old}, {idle, true, "a", 3 * old}}},
		"no idle one":             {[]state{{sending, true, "a", old}, {idle, true, "a", 2 * old}}},
		"of the crowd":            {[]state{{sending, false, "crowd", old}, {working, false, "crowd", 0}, {sending, false, "b", 2 * old}}},
		"no working one":          {[]state{{idle, true, "a", 2 * time.Second}, {working, false, "crowd", old}, {working, false, "crowd", old}}},
		"none that has just come": {[]state{{sending, false, "a", 2 * time.Second}, {sending, false, "crowd", -old}, {sending, false, "crowd", -old}}},
	} {
		t.Run(name, func(t *testing.T) {
			l, all, further := accepts(t, len(test.states), len(test.states))
			for i, s := range test.states {
				all[i].is(s.pace, s.proven, s.source, s.ago)
			}
			dial(t, l)
			closing(t, <-further)
			for i, c := range all {
				if l.has(c) != (i > 0) {
					t.Errorf("connection %d is open: %t", i, l.has(c))
				}
			}
		})
	}
}

func TestAConnectionAboveTheBoundWaitsWhileAllOthersWork(t *testing.T) {
	l, all, further := accepts(t, 1, 1)
	all[0].setState(working)
	all[0].is(working, false, "a", time.Hour)
	dial(t, l)
	eventually(t, "another one waits", func() bool {
		select {
		case <-further:
			t.Fatal("a second connection was accepted")
		default:
		}
		return len(l.freed) == 0
	})
	closing(t, all[0])
	_ = all[0].Close() // gives up one place only
	second, open := <-further
	if !open {
		t.Fatal("the second connection was not accepted in its turn")
	}
	second.is(working, false, "a", 0)
	dial(t, l)
	closing(t, l)
	if _, open := <-further; open {
		t.Error("a closed listener accepted")
	}
	closing(t, second)
}

func TestOnlyTheTimeCountsThatTheServerWaitsForBytes(t *testing.T) {
	now := time.Now()
	c := &connection{of: &connections{}}
	c.waited, c.reads = time.Second, now.Add(-time.Minute)
	if got := c.waitedFor(now); got != time.Minute+time.Second {
		t.Errorf("in a read: %s", got)
	}
	c.recordRead(false)
	before := c.waitedFor(now)
	if got := c.waitedFor(now.Add(time.Hour)); got != before || before < time.Minute {
		t.Errorf("between two reads: %s, later %s", before, got)
	}
	c.recordRead(true)
	c.setState(sending)
	if got := c.waitedFor(c.reads.Add(time.Second)); got != time.Second {
		t.Errorf("at another pace: %s", got)
	}
}

// A deadline that passed while the process did not run is put off, and one that was set to end the read is not.
func TestADeadlineLeavesOutTheTimeInWhichTheProcessDidNotRun(t *testing.T) {
	l, all, _ := accepts(t, 1, 1)
	c := all[0]
	var lost atomic.Int64
	l.lost = func() time.Duration { return time.Duration(lost.Load()) }
	for name, set := range map[string]func(time.Time) error{"read": c.SetReadDeadline, "both": c.SetDeadline} {
		began := time.Now()
		if err := set(began.Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		lost.Add(int64(100 * time.Millisecond))
		_, err := c.Read(make([]byte, 1))
		if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took < 120*time.Millisecond {
			t.Errorf("%s: %v after %s, want the deadline after 120ms", name, err, took)
		}
	}
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	lost.Add(int64(time.Hour))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, where the read was to end", err)
	}
}
