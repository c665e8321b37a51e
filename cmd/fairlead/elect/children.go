// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
)

// becomeSubreaper makes orphaned descendants children of this process, rather than of init, so that they are
// found when the command has to end.
func becomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// reap sends the children of this process a signal unless it is 0, reaps those that have ended, and returns how
// many it found. The child that is waited for elsewhere is left out, as are those in the process group of this
// process: what client-go starts to get credentials stays in that.
func reap(waitedFor int, s syscall.Signal) (found int) {
	own := syscall.Getpgrp()
	files, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is valid
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // below /proc/self
		if err != nil {
			continue // a thread that has ended
		}
		for field := range strings.FieldsSeq(string(content)) {
			pid, err := strconv.Atoi(field)
			if err != nil || pid == waitedFor {
				continue
			}
			if group, err := syscall.Getpgid(pid); err != nil || group == own {
				continue
			}
			if s > 0 {
				_ = syscall.Kill(pid, s)
			}
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			found++
		}
	}
	return found
}

// killRemaining kills the processes that a command has left behind, and returns when none is found: each that is
// reaped may have had children.
func killRemaining(logger logr.Logger, reap func(syscall.Signal) int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(2 * time.Second)
	for reap(syscall.SIGKILL) > 0 {
		select {
		case <-late:
			logger.Info("processes that the command started cannot be killed; the Lease is released once they have ended")
		case <-tick.C:
		}
	}
}
