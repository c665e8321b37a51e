// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// runTerm runs the command for one term. It returns when the command and everything it started have ended.
func (r *Runner) runTerm(ctx context.Context) error {
	foreground := foregroundTerminal(r.Stdin)
	p, err := r.startCommand(ctx, foreground)
	if err != nil {
		r.setOutcome(outcome{err: err})
		return err
	}
	if p == nil {
		return nil
	}
	began := time.Now()
	r.Logger.Info("the command runs", "pid", p.pid)
	lost := r.supervise(ctx, p)
	r.children.killRemaining(p, func() {
		r.Logger.Info("processes that the command started cannot be killed; the Lease is released once they have ended", "group", p.pid)
	})
	r.send(ctx, watchRequest{})
	if err := foreground.takeBack(); err != nil {
		r.Logger.Error(err, "cannot take the terminal back from the command")
	}
	r.children.forget(p.pid)
	r.setOutcome(outcome{code: p.code(), lost: lost})
	r.Logger.Info("the command ended", "code", p.code(), "ranFor", time.Since(began).Round(time.Millisecond), "leaseLost", lost)
	return nil
}

// startCommand starts the command, unless a signal has asked to stop since the Lease was acquired.
func (r *Runner) startCommand(ctx context.Context, foreground *terminal) (*process, error) {
	command := exec.CommandContext(context.WithoutCancel(ctx), r.path, r.Command[1:]...) //nolint:gosec // to run what it is sent is its purpose
	command.Args[0] = r.Command[0]
	var read, write *os.File
	if len(r.Helper) > 0 {
		var err error
		if read, write, err = os.Pipe(); err != nil {
			return nil, err
		}
		defer func() { _, _ = read.Close(), write.Close() }()
		command = r.helper(ctx, append([]string{helperExec, r.path}, r.Command...)...)
		command.ExtraFiles = []*os.File{read} // startPipe
	}
	// A nil *os.File in an interface would not be the null device.
	if r.Stdin != nil {
		command.Stdin = r.Stdin
	}
	if r.Stdout != nil {
		command.Stdout = r.Stdout
	}
	if r.Stderr != nil {
		command.Stderr = r.Stderr
	}
	command.Env = environment(r.lease.written())
	command.SysProcAttr = commandAttributes()
	foreground.passTo(command.SysProcAttr)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopSignal != 0 {
		return nil, nil
	}
	p, err := r.children.startProcess(command)
	switch {
	case err != nil && write == nil:
		return nil, startError{err}
	case err != nil:
		return nil, fmt.Errorf("start the command: %w", err)
	}
	r.process = p
	if write != nil {
		r.sendDeadline(ctx, p)
		// The machine may have slept since the Lease was acquired. From here on the watchdog kills in time.
		if due, _ := r.lease.due(); due == keepRunning {
			_, _ = write.Write([]byte{0}) // supervise sees a process that has died in the meantime
		}
	}
	return p, nil
}

// helper returns another process of this program.
func (r *Runner) helper(ctx context.Context, args ...string) *exec.Cmd {
	line := slices.Concat(r.Helper, args)
	return exec.CommandContext(context.WithoutCancel(ctx), line[0], line[1:]...) //nolint:gosec // what the program itself configures
}

func (r *Runner) setOutcome(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.outcome = nil, &o
}

// supervise waits for the command to end, and ends it in time. It reports whether it ended because the
// Lease was lost.
func (r *Runner) supervise(ctx context.Context, p *process) (lost bool) {
	sent := r.sendDeadline(ctx, p)
	taken := keepRunning
	canceled := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	killed := false // by the watchdog, while this process was stopped
	for {
		next := keepRunning
		select {
		case <-p.done:
		case <-timer.C:
		case <-r.lease.extended:
		case <-r.watchdog.done():
			r.replaceWatchdog(ctx)
			sent = r.sendDeadline(ctx, p)
		case <-canceled:
			canceled = nil
			next = actionFor(context.Cause(ctx))
		}
		killed = killed || clock() >= sent
		due, wait := r.lease.due()
		if next = max(next, due); next > taken && exited(p.pid) {
			<-p.done // it ended by itself, before the loss or while this process slept
		}
		select {
		case <-p.done:
			return taken > keepRunning || killed && p.code() == codeSignal+int(syscall.SIGKILL)
		default:
		}
		if next > taken {
			taken = next
			r.signalLoss(p, taken)
		}
		if sent != r.lease.deadline() {
			sent = r.sendDeadline(ctx, p)
		}
		timer.Reset(max(time.Millisecond, min(wait, wakeInterval)))
		if taken == kill {
			timer.Stop()
		}
	}
}

// actionFor returns what the end of the term's context requires. A Lease that another process holds leaves
// no grace. Any other cause ends a wait that was over just before.
func actionFor(cause error) action {
	switch {
	case errors.Is(cause, leaderelection.ErrTaken):
		return kill
	case errors.Is(cause, leaderelection.ErrLost):
		return terminate
	default:
		return keepRunning
	}
}

func (r *Runner) signalLoss(p *process, a action) {
	if a == kill {
		r.Logger.Info("the Lease is lost: SIGKILL to the command", "pid", p.pid)
		p.signal(syscall.SIGKILL)
		return
	}
	r.Logger.Info("the Lease is lost: SIGTERM to the command", "pid", p.pid, "grace", r.Grace)
	p.signal(syscall.SIGTERM)
	// A stopped command gets it only when it continues.
	p.signal(syscall.SIGCONT)
}

// sendDeadline sends the watchdog the time by which the command must be dead, and returns it.
func (r *Runner) sendDeadline(ctx context.Context, p *process) time.Duration {
	deadline := r.lease.deadline()
	request := watchRequest{p.pid, deadline}
	if !sharedClock {
		request.deadline = forever
	}
	r.send(ctx, request)
	return deadline
}

// send sends a request to the watchdog, or to a new one where the old one does not read it.
func (r *Runner) send(ctx context.Context, request watchRequest) {
	if r.watchdog.send(request) == nil {
		return
	}
	r.replaceWatchdog(ctx)
	if err := r.watchdog.send(request); err != nil {
		r.Logger.Error(err, noWatchdog)
	}
}

// noWatchdog is logged, and the command continues: this process still ends it.
const noWatchdog = "no watchdog: if this process is killed or stopped, the command may outlive the Lease"

// replaceWatchdog starts another watchdog where one has ended or does not read, unless that one was only
// just started: the next would end in the same way.
func (r *Runner) replaceWatchdog(ctx context.Context) {
	age := time.Since(r.watchdog.started)
	r.stopWatchdog()
	if age < time.Second {
		r.Logger.Error(fmt.Errorf("it ended after %s", age.Round(time.Millisecond)), noWatchdog)
		return
	}
	r.Logger.Info("the watchdog does not respond; starting another", "ranFor", age.Round(time.Second))
	if err := r.startWatchdog(ctx); err != nil {
		r.Logger.Error(err, noWatchdog)
	}
}
