// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"time"

	"golang.org/x/sys/unix"
)

// newElapsed returns a clock that cannot be set and that runs while the machine sleeps, unlike Go's own.
func newElapsed() func() time.Duration { return sinceBoot }

func sinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return unlimited // older than any kernel that runs this; past every deadline is the safe side
	}
	return time.Duration(now.Nano())
}
