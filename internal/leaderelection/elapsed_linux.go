// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"time"

	"golang.org/x/sys/unix"
)

func newElapsed() func() time.Duration { return SinceBoot }

// SinceBoot returns the time of a clock that cannot be set and that runs while the machine sleeps, unlike Go's own. All
// processes of a machine read the same.
func SinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return unlimited // older than any kernel that runs this; past every deadline is the safe side
	}
	return time.Duration(now.Nano())
}
