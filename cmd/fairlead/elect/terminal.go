// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the one that the command may read from. Nil is none.
type terminal struct{ fd int }

// controlled returns the terminal that a file is, where this process is in its foreground. A command
// in another group than that could not read from it: it would be stopped, and keep the Lease.
func controlled(file *os.File) *terminal {
	if file == nil {
		return nil
	}
	fd := int(file.Fd())
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != syscall.Getpgrp() {
		return nil
	}
	return &terminal{fd}
}

// lend gives the foreground to a process that is to be started, which then also gets the signals of
// the keyboard in place of this one.
func (t *terminal) lend(to *syscall.SysProcAttr) {
	if t != nil {
		to.Foreground, to.Ctty = true, t.fd
	}
}

// back takes the foreground again. A process in the background may, if it ignores to be stopped for it.
func (t *terminal) back() error {
	if t == nil {
		return nil
	}
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, syscall.Getpgrp())
}
