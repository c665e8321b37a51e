// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// What an aide may be told to do.
const (
	aideWatch = "watch"
	aideBegin = "begin"
)

// gate is the file descriptor on which the beginner of a command hears that it may.
const gate = 3

// Aide is what a process does that was started by Options.Aide: args are what followed that command
// line. It returns the exit code. An aide that begins the command becomes it, and does not return.
func Aide(args []string) (int, error) {
	switch {
	case len(args) == 1 && args[0] == aideWatch:
		if err := Watch(os.Stdin); err != nil {
			return CodeFailed, fmt.Errorf("watchman: %w", err)
		}
		return 0, nil
	case len(args) > 2 && args[0] == aideBegin:
		return begin(args[1], args[2:])
	default:
		return CodeFailed, errors.New("this is for internal use")
	}
}

// begin waits until the watchman knows this process, and becomes the command. A guard that is
// stopped or dies between its two steps leaves nothing that runs unwatched.
func begin(path string, argv []string) (int, error) {
	syscall.CloseOnExec(gate)
	word := os.NewFile(gate, "gate")
	if _, err := word.Read(make([]byte, 1)); err != nil {
		return CodeFailed, errors.New("the guard has ended before the command began")
	}
	err := notStarted{fmt.Errorf("start %s: %w", path, syscall.Exec(path, argv, os.Environ()))} //nolint:gosec // to run what it is told is its purpose
	return Code(err), err
}
