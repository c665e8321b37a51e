// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// accepts opens n connections to a listener of so many, and returns them as the server sees them. Further
// ones come through the channel.
func accepts(t *testing.T, most, n int) (l *Listener, all []*Conn, further <-chan *Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = Bound(inner, Options{Max: most})
	t.Cleanup(func() { closing(t, l) })
	accepted := make(chan *Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn.(*Conn)
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

func dial(t *testing.T, l *Listener) {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, conn) })
}

// is sets what a connection does, and for how long it has kept the server waiting.
func (c *Conn) is(p State, proven bool, source string, ago time.Duration) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.from[c.source]--
	c.state, c.proven, c.source, c.waited = p, proven, source, ago
	c.of.from[c.source]++
}

func (l *Listener) has(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, has := l.open[c]
	return has
}

func TestAConnectionAboveTheBoundTakesThePlaceOfTheWorstOne(t *testing.T) {
	const old = time.Hour
	type state struct {
		pace   State
		proven bool
		source string
		ago    time.Duration
	}
	for name, test := range map[string]struct {
		states []state // the first one must go
	}{
		"oldest":                  {[]state{{Sending, false, "a", 2 * old}, {Sending, false, "a", old}}},
		"never proven":            {[]state{{Idle, false, "a", old}, {Sending, true, "a", 2 * old}, {Idle, true, "a", 3 * old}}},
		"no idle one":             {[]state{{Sending, true, "a", old}, {Idle, true, "a", 2 * old}}},
		"of the crowd":            {[]state{{Sending, false, "crowd", old}, {Working, false, "crowd", 0}, {Sending, false, "b", 2 * old}}},
		"no working one":          {[]state{{Idle, true, "a", 2 * time.Second}, {Working, false, "crowd", old}, {Working, false, "crowd", old}}},
		"none that has just come": {[]state{{Sending, false, "a", 2 * time.Second}, {Sending, false, "crowd", -old}, {Sending, false, "crowd", -old}}},
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
	all[0].SetState(Working)
	all[0].is(Working, false, "a", time.Hour)
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
	second.is(Working, false, "a", 0)
	dial(t, l)
	closing(t, l)
	if _, open := <-further; open {
		t.Error("a closed listener accepted")
	}
	closing(t, second)
}

func TestOnlyTheTimeCountsThatTheServerWaitsForBytes(t *testing.T) {
	now := time.Now()
	c := &Conn{of: &Listener{}}
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
	c.SetState(Sending)
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

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

func closing(t testing.TB, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Log(err)
	}
}
