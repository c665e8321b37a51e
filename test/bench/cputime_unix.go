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

// cpuTime returns the CPU time of this process, user and system together. Unlike the elapsed time, it excludes other
// processes.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	// It fails only for an invalid argument.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
