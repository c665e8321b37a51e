// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// wakeInterval bounds how long after the machine wakes up a deadline that has passed is noticed: timers do
// not advance while it sleeps.
const wakeInterval = 200 * time.Millisecond

// requestPipe is the file descriptor from which the guard reads requests.
const requestPipe = 3

// request is a message from the process that renews the Lease to the guard: the times of the last renewal, or a signal.
type request struct {
	// TerminateAt and KillAt are when the command gets SIGTERM and SIGKILL, by leaderelection.SinceBoot.
	TerminateAt, KillAt time.Duration
	// Signal is sent to the command. 0 means the times.
	Signal syscall.Signal
}

// action is the guard's decision about the command.
type action int

const (
	keepRunning action = iota
	terminate
	kill
)

// due returns the action that is due, and the time until the next one.
func (r request) due(now time.Duration) (action, time.Duration) {
	switch {
	case now >= r.KillAt:
		return kill, forever
	case now >= r.TerminateAt:
		return terminate, r.KillAt - now
	default:
		return keepRunning, r.TerminateAt - now
	}
}

// GuardMain is the main function of the process that Options.Guard starts: args are the arguments after that
// command line. It runs the command and returns the exit code, which is CodeLost where it ended the command.
func GuardMain(logger logr.Logger, args []string) (int, error) {
	if len(args) < 2 {
		return CodeFailed, errors.New("--guard is for internal use")
	}
	// A signal that is sent to all processes of a container must not leave the command without its guard. What
	// is caught, rather than ignored, has its default action in the command. The log may get a SIGPIPE.
	notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	orphaned := make(chan os.Signal, 1)
	signal.Notify(orphaned, syscall.SIGCHLD)
	if err := becomeSubreaper(); err != nil {
		return CodeFailed, err
	}
	syscall.CloseOnExec(requestPipe)
	requests := make(chan request)
	go readRequests(os.NewFile(requestPipe, "requests"), requests)
	first := <-requests
	// This process may have been stopped, and the machine may have slept, since the Lease was acquired.
	if due, _ := first.due(leaderelection.SinceBoot()); due != keepRunning {
		return CodeLost, errors.New("the Lease was lost before the command began")
	}
	command, ended, err := startCommand(args[0], args[1:])
	if err != nil {
		return Code(err), err
	}
	g := guard{
		logger: logger.WithValues("pid", command.Pid),
		now:    leaderelection.SinceBoot,
		signal: func(s syscall.Signal) { _ = syscall.Kill(-command.Pid, s) },
		reap:   func() { reap(command.Pid, 0) },
	}
	code := g.run(first, requests, orphaned, ended)
	g.signal(syscall.SIGKILL)
	killRemaining(g.logger, func(s syscall.Signal) int { return reap(0, s) })
	return code, nil
}

// startCommand starts the command. The channel receives its exit code.
func startCommand(path string, argv []string) (*os.Process, <-chan int, error) {
	// The kernel kills the command when the thread that started it ends: golang/go#27505.
	runtime.LockOSThread()
	command, err := os.StartProcess(path, argv, &os.ProcAttr{ //nolint:gosec // its purpose is to run the command of its user
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		// A session of its own is a process group of its own that may read from the terminal of elect.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return nil, nil, startError{fmt.Errorf("start %s: %w", path, err)}
	}
	ended := make(chan int, 1)
	go func() {
		state, err := command.Wait()
		if err != nil { // none but this waits for it
			ended <- CodeFailed
			return
		}
		ended <- exitCode(state)
	}()
	return command, ended, nil
}

// notify has the signals that are forwarded to the command, and others, sent to a channel, without those that the
// parent of this process ignores, as nohup(1) does.
func notify(to chan<- os.Signal, others ...os.Signal) {
	for _, s := range append(others, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2) {
		if !signal.Ignored(s) {
			signal.Notify(to, s)
		}
	}
}

// readRequests sends the requests that it reads, and closes the channel where they end or cannot be read.
func readRequests(from io.Reader, to chan<- request) {
	defer close(to)
	for decoder := json.NewDecoder(from); ; {
		var r request
		if decoder.Decode(&r) != nil {
			return
		}
		to <- r
	}
}

// guard ends a command in time.
type guard struct {
	logger logr.Logger
	now    func() time.Duration
	signal func(syscall.Signal) // to the command's process group
	reap   func()
}

// run returns the exit code of the command when it has ended; its children may still run.
func (g guard) run(times request, requests <-chan request, orphaned <-chan os.Signal, ended <-chan int) int {
	g.logger.Info("the command runs")
	began, taken := time.Now(), keepRunning
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case code := <-ended:
			g.logger.Info("the command ended", "code", code, "ranFor", time.Since(began).Round(time.Millisecond), "leaseLost", taken > keepRunning)
			if taken > keepRunning {
				return CodeLost
			}
			return code
		case r, open := <-requests:
			switch {
			case !open: // elect was killed
				times, requests = request{}, nil
			case r.Signal != 0:
				g.signal(r.Signal)
			default:
				times = r
			}
		case <-orphaned:
			g.reap()
		case <-timer.C:
		}
		due, wait := times.due(g.now())
		if due > taken {
			taken = due
			g.end(taken)
		}
		timer.Reset(min(wait, wakeInterval))
	}
}

// end ends the command because the Lease is lost.
func (g guard) end(by action) {
	if by == kill {
		g.signal(syscall.SIGKILL)
		g.logger.Info("the Lease is lost: SIGKILL to the command")
		return
	}
	g.signal(syscall.SIGTERM)
	g.signal(syscall.SIGCONT) // a stopped command gets SIGTERM only when it continues
	g.logger.Info("the Lease is lost: SIGTERM to the command")
}

// exitCode returns the exit code of a command that has ended, as a shell does.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return state.ExitCode()
}
