// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// wakeInterval bounds how long after the machine wakes up a deadline that has passed is noticed: timers do
// not advance while it sleeps.
const wakeInterval = 200 * time.Millisecond

// watchRequest names the process group that the watchdog is to kill, and when. A group of 0 is none.
type watchRequest struct {
	group    int
	deadline time.Duration
}

// runWatchdog kills a process group when its deadline passes, or when the requests end, as they do when the
// process that sends them dies. It returns then. It ignores signals to stop: one that is sent to all
// processes of a container or a terminal must not leave the command unwatched.
func runWatchdog(requests io.Reader) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP)
	return watchdog{now: clock, kill: func(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }}.run(requests)
}

type watchdog struct {
	now  func() time.Duration
	kill func(group int)
}

func (w watchdog) run(requests io.Reader) error {
	received, failed := make(chan watchRequest), make(chan error, 1)
	go func() {
		defer close(received)
		lines := bufio.NewScanner(requests)
		for lines.Scan() {
			var request watchRequest
			if _, err := fmt.Sscan(lines.Text(), &request.group, (*int64)(&request.deadline)); err != nil {
				failed <- fmt.Errorf("request %q: %w", lines.Text(), err)
				return
			}
			received <- request
		}
	}()
	tick := time.NewTicker(wakeInterval)
	defer tick.Stop()
	due := time.NewTimer(forever)
	defer due.Stop()
	var current watchRequest
	for {
		select {
		case request, open := <-received:
			if !open {
				w.killGroup(&current)
				select {
				case err := <-failed:
					return err
				default:
					return nil
				}
			}
			current = request
			due.Reset(max(0, current.deadline-w.now()))
		case <-tick.C:
		case <-due.C:
		}
		if current.group > 1 && w.now() >= current.deadline {
			w.killGroup(&current)
		}
	}
}

// killGroup kills the group that is watched, once.
func (w watchdog) killGroup(current *watchRequest) {
	if current.group > 1 {
		w.kill(current.group)
	}
	*current = watchRequest{}
}

// watchdogProcess is a running watchdog. Nil is none.
type watchdogProcess struct {
	input   *os.File
	process *os.Process
	exited  chan struct{}
	started time.Time
}

// send sends a request, without waiting for a watchdog that does not read.
func (w *watchdogProcess) send(request watchRequest) error {
	if w == nil {
		return nil
	}
	if err := w.input.SetWriteDeadline(time.Now().Add(wakeInterval)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w.input, "%d %d\n", request.group, request.deadline)
	return err
}

// done is closed when the watchdog has ended.
func (w *watchdogProcess) done() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.exited
}

// startWatchdog starts the watchdog, where there is a helper.
func (r *Runner) startWatchdog(ctx context.Context) error {
	if len(r.Helper) == 0 {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the watchdog: %w", err)
	}
	defer func() { _ = read.Close() }()
	command := r.helper(ctx, helperWatch)
	command.Stdin, command.Stderr = read, r.Stderr
	// So that it does not get the signals of a terminal.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.children.start(command); err != nil {
		_ = write.Close()
		return fmt.Errorf("start the watchdog: %w", err)
	}
	w := &watchdogProcess{input: write, exited: make(chan struct{}), process: command.Process, started: time.Now()}
	go func() {
		defer close(w.exited)
		_ = command.Wait()
		r.children.forget(command.Process.Pid)
	}()
	r.watchdog = w
	return nil
}

// stopWatchdog ends the watchdog, and only then the requests: it would kill the command otherwise.
func (r *Runner) stopWatchdog() {
	if r.watchdog == nil {
		return
	}
	_ = r.watchdog.process.Kill()
	<-r.watchdog.exited
	_ = r.watchdog.input.Close()
	r.watchdog = nil
}

// What a helper can do.
const (
	helperWatch = "watch"
	helperExec  = "exec"
)

// startPipe is the file descriptor from which a helper reads that it may become the command.
const startPipe = 3

// HelperMain is the main function of a process that Options.Helper starts: args are the arguments after that
// command line. It returns the exit code, unless the process becomes the command.
func HelperMain(args []string) (int, error) {
	switch {
	case len(args) == 1 && args[0] == helperWatch:
		if err := runWatchdog(os.Stdin); err != nil {
			return CodeFailed, fmt.Errorf("watchdog: %w", err)
		}
		return 0, nil
	case len(args) > 2 && args[0] == helperExec:
		return execWhenWatched(args[1], args[2:])
	default:
		return CodeFailed, errors.New("this is for internal use")
	}
}

// execWhenWatched waits until the watchdog knows this process, and becomes the command. If the parent is
// stopped or dies before that, nothing runs unwatched.
func execWhenWatched(path string, argv []string) (int, error) {
	syscall.CloseOnExec(startPipe)
	pipe := os.NewFile(startPipe, "start")
	if _, err := pipe.Read(make([]byte, 1)); err != nil {
		return CodeFailed, errors.New("elect has ended before the command began")
	}
	err := startError{fmt.Errorf("start %s: %w", path, syscall.Exec(path, argv, os.Environ()))} //nolint:gosec // to run what it is told is its purpose
	return Code(err), err
}
