// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sharedClock: the watchdog reads the same clock.
const sharedClock = true

// clock returns the time of a clock that cannot be set and that runs while the machine sleeps. All processes
// of a machine read the same.
func clock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		// Only on kernels older than Go supports. A time past every deadline is safe.
		return forever
	}
	return time.Duration(now.Nano())
}

// commandAttributes gives the command a process group of its own, whose leader ends with the thread that
// started it: the kernel kills it also where the watchdog cannot.
func commandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Self returns the path of the running program, also after its file was replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// becomeSubreaper makes orphaned descendants children of this process, rather than of init, so that they are
// found when the command has to end.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// awaitExit waits until a child has ended, and leaves it a zombie so that neither its id nor that of its group
// is reused.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// exited reports whether a child that awaitExit waits for has ended.
func exited(pid int) bool {
	var found unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &found, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return errors.Is(err, syscall.ECHILD) || err == nil && found.Signo != 0
}

// orphans returns the children of this process, except those that it started, in other process groups than
// its own: what client-go starts to get credentials stays in that.
func orphans(started ...int) []int {
	group := syscall.Getpgrp()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	known := map[int]bool{}
	for _, pid := range started {
		known[pid] = true
	}
	var found []int
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // below /proc/self
		if err != nil {
			continue // a thread that has ended
		}
		for field := range strings.FieldsSeq(string(content)) {
			pid, err := strconv.Atoi(field)
			if err != nil || known[pid] {
				continue
			}
			if of, err := syscall.Getpgid(pid); err == nil && of != group {
				found = append(found, pid)
			}
		}
	}
	return found
}
