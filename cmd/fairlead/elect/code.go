// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"errors"
	"os"
	"os/exec"
)

// Exit codes that are no command's own, next to those of timeout(1), env(1) and nohup(1).
const (
	// CodeLost says that the Lease was lost and the command ended for it.
	CodeLost = 124
	// CodeFailed says that the guard itself failed, or was used wrongly.
	CodeFailed = 125
	// CodeNotExecutable says that the command was found and could not be started.
	CodeNotExecutable = 126
	// CodeNotFound says that there is no such command.
	CodeNotFound = 127
	// codeSignal is added to the number of a signal that ended the command, or the wait for the Lease.
	codeSignal = 128
)

// notStarted is why the command cannot be started, in contrast to all else that can fail.
type notStarted struct{ error }

func (n notStarted) Unwrap() error { return n.error }

// Code returns the exit code for an error of New: where the command is what is wrong, that of a shell.
func Code(err error) int {
	switch {
	case !errors.As(err, &notStarted{}):
		return CodeFailed
	case errors.Is(err, os.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return CodeNotFound
	default:
		return CodeNotExecutable
	}
}
