// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is the command that runs.
type process struct {
	command *exec.Cmd
	pid     int           // of its group, too
	done    chan struct{} // closed when it has ended; its children may still run
}

// startProcess starts the command. After an error nothing runs.
func (c *children) startProcess(command *exec.Cmd) (*process, error) {
	p := &process{command: command, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The signal on the death of the parent is sent when this thread ends: golang/go#27505.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.start(command)
		if err == nil {
			p.pid = command.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		defer close(p.done)
		awaitExit(p.pid)
		p.signal(syscall.SIGKILL) // the rest of the group, while its id cannot be reused
		_ = command.Wait()        // the exit code is in ProcessState
	}()
	return p, <-started
}

// signal sends to the group. An empty group is no error.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid, s) }

// code returns the exit code of a command that has ended, as a shell does.
func (p *process) code() int {
	if status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return p.command.ProcessState.ExitCode()
}

// children are the processes that this one started. One lock protects all steps: a new child must not be
// taken for an orphan before it is in the list.
type children struct {
	mu      sync.Mutex
	started []int
}

func (c *children) start(command *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := command.Start(); err != nil {
		return err
	}
	c.started = append(c.started, command.Process.Pid)
	return nil
}

// forget removes a child that has been waited for: its id may be reused by an orphan.
func (c *children) forget(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, started := range c.started {
		if started == pid {
			c.started = append(c.started[:i], c.started[i+1:]...)
			return
		}
	}
}

// reap reaps orphans that have ended, sends the others a signal unless it is 0, and returns their number.
func (c *children) reap(s syscall.Signal) (alive int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pid := range orphans(c.started...) {
		if s > 0 {
			_ = syscall.Kill(pid, s)
		}
		if reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err == nil && reaped == 0 {
			alive++
		}
	}
	return alive
}

// killRemaining kills the processes that a command has left behind, and returns when none is left. It calls
// late once where that takes more than two seconds.
func (c *children) killRemaining(p *process, late func()) {
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	began := time.Now()
	for {
		left := c.reap(syscall.SIGKILL)
		if err := syscall.Kill(-p.pid, syscall.SIGKILL); left == 0 && errors.Is(err, syscall.ESRCH) {
			return
		}
		if late != nil && time.Since(began) > 2*time.Second {
			late()
			late = nil
		}
		<-tick.C
	}
}

// terminal is the terminal that the command may read from. Nil is none.
type terminal struct{ fd int }

// foregroundTerminal returns the terminal of a file, where this process is in its foreground. A command in
// another process group could not read from it: it would be stopped, and keep the Lease.
func foregroundTerminal(file *os.File) *terminal {
	if file == nil {
		return nil
	}
	fd := int(file.Fd())
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != syscall.Getpgrp() {
		return nil
	}
	return &terminal{fd}
}

// passTo gives a new process the foreground, and with it the signals of the keyboard.
func (t *terminal) passTo(to *syscall.SysProcAttr) {
	if t != nil {
		to.Foreground, to.Ctty = true, t.fd
	}
}

// takeBack takes the foreground back. A process in the background may do so if it ignores SIGTTOU.
func (t *terminal) takeBack() error {
	if t == nil {
		return nil
	}
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, syscall.Getpgrp())
}
