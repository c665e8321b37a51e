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

// shared says that the watchman reads the same clock.
const shared = true

// elapsed is a clock that cannot be set and that runs while the machine sleeps. All processes of a
// machine read the same.
func elapsed() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		// Older than any kernel that runs this. Far past every deadline is the safe side.
		return forever
	}
	return time.Duration(now.Nano())
}

// ofCommand makes the command a group of its own, which dies with the thread that started it: the
// kernel kills its leader also where the watchman cannot.
func ofCommand() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Self is the running program, also after its file was replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// adopt makes orphans among the descendants children of this process, rather than of init, so that
// they are found when the command has to end.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// awaitExit waits until a child has ended and leaves it a zombie: until then neither its number nor that of
// its group is given to another process.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// exited says whether a child that awaitExit waits for has ended.
func exited(pid int) bool {
	var found unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &found, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return errors.Is(err, syscall.ECHILD) || err == nil && found.Signo != 0
}

// adopted are the children of this process that it did not start: those of another group than its
// own, since what client-go starts to get credentials stays in it, but for the ones named.
func adopted(own ...int) []int {
	group := syscall.Getpgrp()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	known := map[int]bool{}
	for _, pid := range own {
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
