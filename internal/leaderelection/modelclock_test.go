// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// interval is a span of true time from the start of a simulation.
type interval struct{ from, to time.Duration }

func (i interval) holds(at time.Duration) bool { return at >= i.from && at < i.to }

// machineClock is the clock of one machine: it has a rate of its own and does not advance while the machine
// sleeps, as Go's monotonic clock. Timers also wait while the process is stopped. Everything is computed from
// true time, which is that of the test's bubble.
type machineClock struct {
	clock.Clock // what is not overridden is not used

	began  time.Time
	rate   float64
	sleeps []interval // the whole machine
	stops  []interval // the process, which the machine's sleep stops as well
	wall   func(at time.Duration) time.Duration
}

func (c *machineClock) true() time.Duration { return time.Since(c.began) }

// elapsedAt is the clock's time at a true time.
func (c *machineClock) elapsedAt(at time.Duration) time.Duration {
	slept := time.Duration(0)
	for _, s := range c.sleeps {
		if at > s.from {
			slept += min(at, s.to) - s.from
		}
	}
	return time.Duration(float64(at-slept) * c.rate)
}

// elapsed is a clock that advances while the machine sleeps.
func (c *machineClock) elapsed() time.Duration {
	return time.Duration(float64(c.true()) * c.rate)
}

// realTimeOf is the true time of a clock's time, when the process runs.
func (c *machineClock) realTimeOf(shown time.Duration) time.Duration {
	at := time.Duration(float64(shown) / c.rate)
	for _, s := range c.sleeps { // in order, and apart
		if at > s.from {
			at += s.to - s.from
		}
	}
	for c.elapsedAt(at) < shown { // rounded: a timer that is early by nothing would be set again for ever
		at++
	}
	return c.awake(at)
}

// awake is the first time from at on when the process runs.
func (c *machineClock) awake(at time.Duration) time.Duration {
	for moved := true; moved; {
		moved = false
		for _, s := range slices.Concat(c.sleeps, c.stops) {
			if s.holds(at) {
				at, moved = s.to, true
			}
		}
	}
	return at
}

// wake returns when the process runs.
func (c *machineClock) wake() {
	for {
		now := c.true()
		until := c.awake(now)
		if until == now {
			return
		}
		time.Sleep(until - now) //nolint:forbidigo // in a bubble: no time passes
	}
}

// wasStopped reports whether the process or its machine was stopped within the last span.
func (c *machineClock) wasStopped(span time.Duration) bool {
	now := c.true()
	for _, s := range slices.Concat(c.sleeps, c.stops) {
		if s.from <= now && s.to > now-span {
			return true
		}
	}
	return false
}

// Now has no date: it is for differences.
func (c *machineClock) Now() time.Time { return time.Unix(0, 0).Add(c.elapsedAt(c.true())) }

func (c *machineClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// date is the wall clock of the machine.
func (c *machineClock) date() time.Time { return c.began.Add(c.true() + c.wall(c.true())) }

func (c *machineClock) NewTimer(d time.Duration) clock.Timer {
	t := &machineTimer{clock: c, fired: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

type machineTimer struct {
	clock *machineClock
	fired chan time.Time
	mu    sync.Mutex
	timer *time.Timer
}

func (t *machineTimer) C() <-chan time.Time { return t.fired }

func (t *machineTimer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.timer != nil && t.timer.Stop()
}

func (t *machineTimer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	running := t.timer != nil && t.timer.Stop()
	now := t.clock.true()
	at := t.clock.realTimeOf(t.clock.elapsedAt(now) + max(0, d))
	t.timer = time.AfterFunc(max(0, at-now), func() {
		select {
		case t.fired <- t.clock.Now():
		default:
		}
	})
	return running
}
