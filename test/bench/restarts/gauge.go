// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import "time"

// gauge is a number that goes up and down.
type gauge struct {
	now, most    int
	area         float64
	began, since time.Time
}

func (g *gauge) add(n int, at time.Time) {
	g.area += float64(g.now) * at.Sub(g.since).Seconds()
	g.since = at
	g.now += n
	g.most = max(g.most, g.now)
}

// begin forgets what was.
func (g *gauge) begin(at time.Time) {
	g.began, g.since, g.area, g.most = at, at, 0, g.now
}

// mean over the time since the beginning.
func (g *gauge) mean(at time.Time) float64 {
	g.add(0, at)
	return perSecond(g.area, at.Sub(g.began))
}

// perSecond returns 0 where no time has passed.
func perSecond(n float64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return n / in.Seconds()
}
