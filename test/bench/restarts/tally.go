// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import "time"

// tally is a number that goes up and down.
type tally struct {
	now, most    int
	area         float64
	began, since time.Time
}

func (t *tally) add(n int, at time.Time) {
	t.area += float64(t.now) * at.Sub(t.since).Seconds()
	t.since = at
	t.now += n
	t.most = max(t.most, t.now)
}

// begin forgets what was.
func (t *tally) begin(at time.Time) {
	t.began, t.since, t.area, t.most = at, at, 0, t.now
}

// mean over the time since the beginning.
func (t *tally) mean(at time.Time) float64 {
	t.add(0, at)
	return perSecond(t.area, at.Sub(t.began))
}

// perSecond returns 0 where no time has passed.
func perSecond(n float64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return n / in.Seconds()
}
