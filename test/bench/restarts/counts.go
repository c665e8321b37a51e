// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"maps"
	"time"
)

// begin starts counting from zero.
func (b *board) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.rolling.begin(now)
	b.inFlight.begin(now)
	b.ofOne, b.gaps = 0, 0
	b.before, b.written = maps.Clone(b.workloads), map[string]time.Time{}
}

// patched is when the template of a workload was first written since the beginning.
func (b *board) patched(key string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written[key]
}

// policyCount is how many policies there are.
func (b *board) policyCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.policies)
}

// finished is whether so many workloads are there and none is rolling.
func (b *board) finished(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.workloads) == n && b.rolling.now == 0
}

// known is whether policies watch so many workloads, with a baseline for each of their Secrets.
func (b *board) known(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.policies {
		n -= p.known()
	}
	return n == 0
}

// drained is whether so many workloads were restarted since the beginning and nothing is to come, and
// when the last of that was seen.
func (b *board) drained(n int) (bool, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.restarted() == n && b.rolling.now == 0 && b.inFlight.now == 0 && b.pending == 0, b.last
}

// restarted is how many workloads have another template than at the beginning. The lock is held.
func (b *board) restarted() int {
	n := 0
	for key, w := range b.workloads {
		if w.Metadata.Generation > b.before[key].Metadata.Generation {
			n++
		}
	}
	return n
}

// state of a workload: how often its template was written since the beginning, and whether it rolls.
func (b *board) state(key string) (written int64, rolling bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.workloads[key]
	return w.Metadata.Generation - b.before[key].Metadata.Generation, w.rolling()
}

// span is the least and the most of something.
type span struct{ Least, Most int }

// Counts of what happened since the beginning.
type Counts struct {
	// InFlight is how many restarts were in flight at once, by the status of all policies and of one
	// of them, and InFlightMean how many on average.
	InFlight, InFlightOfOne int
	InFlightMean            float64
	// Rolling is how many Deployments were rolling out at once.
	Rolling     int
	RollingMean float64
	// Written is how often the template of a workload was written, and Rollouts how many ReplicaSets
	// were made for it.
	Written, Rollouts span
}

// whole is nil if no watch was interrupted since the beginning.
func (b *board) whole() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gaps > 0 {
		return fmt.Errorf("the API server ended watches %d times, so the most that ran at once is not known: measure again", b.gaps)
	}
	return nil
}

// counts up to a time that is not past the last change.
func (b *board) counts(at time.Time) Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := Counts{
		InFlight: b.inFlight.most, InFlightOfOne: b.ofOne, InFlightMean: b.inFlight.mean(at),
		Rolling: b.rolling.most, RollingMean: b.rolling.mean(at),
	}
	first := true
	for key, w := range b.workloads {
		before := b.before[key]
		c.Written.include(int(w.Metadata.Generation-before.Metadata.Generation), first)
		c.Rollouts.include(w.revision()-before.revision(), first)
		first = false
	}
	return c
}

func (s *span) include(n int, first bool) {
	if first {
		*s = span{n, n}
	}
	s.Least, s.Most = min(s.Least, n), max(s.Most, n)
}

// String says how far it is.
func (b *board) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d of %d workloads restarted, %d rolling, %d in flight, %d pending",
		b.restarted(), len(b.workloads), b.rolling.now, b.inFlight.now, b.pending)
}
