// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import "math"

// condition is the health of a target, in a byte.
type condition uint8

const (
	unknown condition = iota
	healthy
	unhealthy
)

// maxStreak streak that is counted; more than any threshold.
const maxStreak = 1000

// counter counts results in a row, and holds what they have decided.
type counter struct {
	condition condition
	// fell: it became unhealthy by the failures that still go on.
	fell bool
	// falls is how often it became unhealthy, up to the most that fits.
	falls uint16
	// count of successes in a row, or of failures where it is negative.
	count int16
}

// add is the counter after one more result. It decides nothing yet.
func (c counter) add(success bool) counter {
	if success {
		c.fell = false
		c.count = min(max(c.count, 0)+1, maxStreak)
	} else {
		c.count = max(min(c.count, 0)-1, -maxStreak)
	}
	return c
}

// decide is the counter with the condition that its streak amounts to. Patience is that a failure
// does not decide alone where nothing is known.
func (c counter) decide(toHealthy, toUnhealthy int, patient bool) counter {
	switch {
	case patient && c.condition == unknown && c.count < 0:
		if -int(c.count) >= toUnhealthy {
			c = c.fall()
		}
	case c.condition == unknown && c.count > 0, c.condition == unhealthy && int(c.count) >= toHealthy:
		c.condition = healthy
	case c.condition == unknown && c.count < 0:
		c.condition = unhealthy
	case c.condition == healthy && -int(c.count) >= toUnhealthy:
		c = c.fall()
	}
	return c
}

func (c counter) fall() counter {
	c.condition, c.fell = unhealthy, true
	if c.falls < math.MaxUint16 {
		c.falls++
	}
	return c
}

// restarted is the counter after a change of what is checked: the condition stays, as if it had been
// seeded.
func (c counter) restarted() counter { return counter{condition: c.condition, falls: c.falls} }
