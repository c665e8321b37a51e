// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package elect

import (
	"os"
	"syscall"
	"time"
)

// sharedClock: the watchdog does not read the same clock.
const sharedClock = false

var processStart = time.Now()

// clock returns the time of a clock that cannot be set. It is of this process only, and does not run while the
// machine sleeps: the watchdog knows no deadline here, and only kills when this process dies.
func clock() time.Duration { return time.Since(processStart) }

// commandAttributes gives the command a process group of its own. There is no signal on the death of a parent
// here, only the watchdog.
func commandAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Self returns the path of the running program.
func Self() (string, error) { return os.Executable() }

// becomeSubreaper does nothing: orphans go to init, and those that left the command's group are not found.
func becomeSubreaper() error { return nil }

func awaitExit(int) {}

func exited(int) bool { return false }

func orphans(...int) []int { return nil }
