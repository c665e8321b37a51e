// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import "time"

// recoveryFactor is how many times longer than it lasted it takes until a suspicion may last as long again.
const recoveryFactor = 5

// suspicionBudget is for how long neighbors may hold up what is found, so that no number of them does for
// ever. It is used up while they do and comes back slowly.
type suspicionBudget struct {
	limit, left time.Duration
	at          time.Time
}

// account takes the time into account that passed, in use or not.
func (a *suspicionBudget) account(now time.Time, used bool) {
	passed := now.Sub(a.at)
	if used {
		a.left = max(a.left-passed, 0)
	} else {
		a.left = min(a.left+passed/recoveryFactor, a.limit)
	}
	a.at = now
}

// allows says whether a suspicion may begin, or go on. One that has ended for want of time must not
// begin at once.
func (a *suspicionBudget) allows(on bool) bool {
	if on {
		return a.left > 0
	}
	return a.left >= a.limit/10
}
