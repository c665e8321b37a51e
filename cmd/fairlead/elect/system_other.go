// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package elect

import (
	"os"
	"syscall"
	"time"
)

// shared says that the watchman reads the same clock. It does not here.
const shared = false

var began = time.Now()

// elapsed is a clock that cannot be set. It is of this process only, and stands still while the
// machine sleeps: here the watchman knows no deadline, and only follows the death of the guard.
func elapsed() time.Duration { return time.Since(began) }

// ofCommand makes the command a group of its own. There is no signal on the death of a parent here:
// that is the watchman's alone.
func ofCommand() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Self is the running program.
func Self() (string, error) { return os.Executable() }

// adopt does nothing: orphans go to init, and those that left the command's group are not found.
func adopt() error { return nil }

func awaitExit(int) {}

func exited(int) bool { return false }

func adopted(...int) []int { return nil }
