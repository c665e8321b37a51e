// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"syscall"
	"time"
)

// clock names what cpuTime counts.
const clock = "CPU time"

// cpuTime is what this process has used of the processors, by user and system together. Unlike
// the wall's clock it does not count what other processes took.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	// It can only fail on a bad address or a bad selector, and neither is variable here.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
