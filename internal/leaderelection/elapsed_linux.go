// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"time"

	"golang.org/x/sys/unix"
)

func newElapsed() func() time.Duration { return SinceBoot }

// SinceBoot returns the time since the machine booted. Its clock cannot be set and includes the time that the machine
// sleeps, unlike Go's. All processes of a machine read the same.
func SinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return unlimited // no supported kernel lacks this clock; past every deadline is the safe side
	}
	return time.Duration(now.Nano())
}
