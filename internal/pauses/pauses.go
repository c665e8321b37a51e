// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pauses measures for how long the process does not run, as on a machine that is overloaded, throttled
// or moved to another host. Time in which the process did not run must not count against the servers that it
// waits for.
package pauses

import (
	"context"
	"sync"
	"time"
)

// Meter measures the pauses of the process while Run runs.
type Meter struct {
	// Every is the time between two samples.
	Every time.Duration
	// Least is the shortest pause that counts.
	Least time.Duration

	mu   sync.Mutex
	lost time.Duration
	last time.Time // sample; zero while Run does not run
}

// Run samples the clock until ctx ends.
func (m *Meter) Run(ctx context.Context) {
	tick := time.NewTicker(m.Every)
	defer tick.Stop()
	m.sample(time.Now())
	for {
		select {
		case <-ctx.Done():
			m.sample(time.Time{})
			return
		case <-tick.C:
			m.sample(time.Now())
		}
	}
}

func (m *Meter) sample(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost += m.late(now)
	m.last = now
}

// late is the pause that is not included in lost yet.
func (m *Meter) late(now time.Time) time.Duration {
	if m.last.IsZero() || now.IsZero() {
		return 0
	}
	if late := now.Sub(m.last) - m.Every; late >= m.Least {
		return late
	}
	return 0
}

// Lost returns for how long the process has not run in total, including a pause that has just ended.
func (m *Meter) Lost() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost + m.late(time.Now())
}
