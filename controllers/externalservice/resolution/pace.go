// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import "time"

const (
	// firstRate is how many first lookups begin in a second, in the long run.
	firstRate = 500
	// firstBurst is how many may begin at once.
	firstBurst = 64
)

// pacer spaces out first lookups: a burst at once, and the rest at a steady rate.
type pacer struct {
	// full is when everything that was let through so far would have begun at the steady rate.
	full time.Time
}

// next returns when one more may begin.
func (p *pacer) next(now time.Time) time.Time {
	const gap = time.Second / firstRate
	if p.full.Before(now) {
		p.full = now
	}
	at := p.full.Add(-(firstBurst - 1) * gap)
	p.full = p.full.Add(gap)
	if at.Before(now) {
		return now
	}
	return at
}
