// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// Runner runs one command under one Lease.
type Runner struct {
	options  Options
	path     string // of the command
	elector  *leaderelection.Elector
	refusals refusals
	end      context.CancelCauseFunc // ends the wait for the Lease

	mu    sync.Mutex            // protects the fields below
	lease *coordinationv1.Lease // as written last
	times request               // of the last renewal
	guard *guardProcess         // nil where no command runs
}

// guardProcess is a guard that runs.
type guardProcess struct {
	*exec.Cmd
	requests *os.File
	exited   chan struct{} // closed when it has
}

// New validates the options.
func New(o Options) (*Runner, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := &Runner{options: o, refusals: refusals{}}
	var err error
	r.elector, err = leaderelection.New(leaderelection.Options{
		Leases: o.Leases, Namespace: o.Namespace, Name: o.Name, Identity: o.Identity,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		Logger: o.Logger, Record: r.record,
	})
	if err != nil {
		return nil, err
	}
	if r.path, err = exec.LookPath(o.Command[0]); err != nil {
		return nil, startError{err}
	}
	return r, nil
}

// record records the result of a request for the Lease. Other candidates count from later than when a write was sent: when
// they see it.
func (r *Runner) record(verb string, sent time.Duration, lease *coordinationv1.Lease, err error) {
	if refused := r.refusals.record(verb, leaderelection.SinceBoot(), err); refused != nil {
		r.end(fmt.Errorf("the Lease %s/%s: %w", r.options.Namespace, r.options.Name, refused))
	}
	if verb == "get" || err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") != r.options.Identity {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease = lease
	at := sent + r.options.RenewDeadline
	r.times = request{TerminateAt: at, KillAt: at + r.options.Grace}
	r.send(r.times)
}

// send sends a request to the guard where it runs. One that does not read is stopped, or has ended.
func (r *Runner) send(q request) {
	if r.guard == nil {
		return
	}
	_ = r.guard.requests.SetWriteDeadline(time.Now().Add(wakeInterval)) // a pipe has deadlines
	if err := json.NewEncoder(r.guard.requests).Encode(q); err != nil {
		_ = r.guard.Process.Kill()
	}
}

// Run waits for the Lease, runs the command and returns the exit code, which is the command's where it ended
// by itself. An error says why it is another one. The end of ctx is treated as SIGTERM.
func (r *Runner) Run(ctx context.Context) (int, error) {
	if err := becomeSubreaper(); err != nil {
		return CodeFailed, err
	}
	waiting, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	r.end = end
	received := make(chan os.Signal, 16)
	notify(received, syscall.SIGCHLD, syscall.SIGTSTP)
	defer close(received)
	defer signal.Stop(received)
	go func() {
		for s := range received {
			r.handleSignal(s)
		}
	}()
	defer context.AfterFunc(ctx, func() { r.handleSignal(syscall.SIGTERM) })()

	code := notRun
	err := r.elector.Run(waiting, func(ctx context.Context) (err error) {
		code, err = r.runTerm(ctx, waiting)
		return err
	})
	var asked signaled
	switch cause, lost := context.Cause(waiting), errors.Is(err, leaderelection.ErrLost); {
	case lost && code == CodeLost:
		return code, fmt.Errorf("lost the Lease %s/%s: the command was ended", r.options.Namespace, r.options.Name)
	case lost: // it ended by itself just before
		return code, nil
	case code != notRun:
		return code, err
	case errors.As(cause, &asked):
		return codeSignal + int(asked), nil
	default:
		return CodeFailed, cmp.Or(err, cause)
	}
}

// notRun is the exit code of no command.
const notRun = -1

// runTerm runs the command for one term, unless a signal has ended the wait since the Lease was acquired. It
// returns the exit code when the command and everything it started have ended.
func (r *Runner) runTerm(ctx, waiting context.Context) (int, error) {
	g, err := r.startGuard(waiting)
	if err != nil {
		return CodeFailed, fmt.Errorf("start the guard of the command: %w", err)
	}
	if g == nil {
		return notRun, nil
	}
	tick := time.NewTicker(wakeInterval)
	defer tick.Stop()
	done, lost := ctx.Done(), false
	for running := true; running && !lost; {
		select {
		case <-g.exited:
			running = false
		case <-done: // after any other cause the guard gives the command its grace
			done, lost = nil, errors.Is(context.Cause(ctx), leaderelection.ErrTaken)
		case <-tick.C:
			lost = r.isOver()
		}
	}
	// The guard may be stopped. The kernel kills the command with it.
	_ = g.Process.Kill()
	<-g.exited
	r.forgetGuard()
	killRemaining(r.options.Logger, r.reap)
	switch {
	case g.ProcessState.Exited():
		return g.ProcessState.ExitCode(), nil
	case lost || r.isOver():
		return CodeLost, nil
	default:
		return CodeFailed, fmt.Errorf("the guard of the command has ended: %s", g.ProcessState)
	}
}

// startGuard starts the guard, which starts the command. It returns nil where a signal has ended the wait.
func (r *Runner) startGuard(waiting context.Context) (*guardProcess, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	r.mu.Lock()
	defer r.mu.Unlock()
	if waiting.Err() != nil {
		return nil, write.Close()
	}
	line := slices.Concat(r.options.Guard, []string{r.path}, r.options.Command)
	g := &guardProcess{requests: write, exited: make(chan struct{})}
	g.Cmd = exec.CommandContext(context.WithoutCancel(waiting), line[0], line[1:]...) //nolint:gosec // what the program itself configures
	g.Stdin, g.Stdout, g.Stderr = os.Stdin, os.Stdout, os.Stderr
	g.ExtraFiles = []*os.File{read} // requestPipe
	g.Env = environment(r.lease)
	// What is sent to the process group or the session of this process must not reach both.
	g.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := g.Start(); err != nil {
		_ = write.Close()
		return nil, err
	}
	go func() {
		defer close(g.exited)
		_ = g.Wait()
	}()
	r.guard = g
	r.send(r.times)
	return g, nil
}

// forgetGuard ends what belongs to a guard that has exited.
func (r *Runner) forgetGuard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.guard.requests.Close()
	r.guard = nil
}

// isOver reports whether the command must have ended by now.
func (r *Runner) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return leaderelection.SinceBoot() >= r.times.KillAt
}

// reap reaps orphans, which come to this process where the guard was killed, and in a container.
func (r *Runner) reap(s syscall.Signal) int {
	r.mu.Lock() // a guard that is being started is no orphan
	defer r.mu.Unlock()
	if r.guard == nil {
		return reap(0, s)
	}
	return reap(r.guard.Process.Pid, s)
}

// signaled is the cause of the end of a wait that a signal has ended.
type signaled syscall.Signal

func (s signaled) Error() string { return syscall.Signal(s).String() }

// handleSignal forwards a signal to the command, or ends the wait for the Lease.
func (r *Runner) handleSignal(s os.Signal) {
	switch s {
	case syscall.SIGCHLD:
		r.reap(0)
		return
	case syscall.SIGTSTP: // Ctrl-Z would stop this process and not the command, whose Lease would be lost
		return
	}
	number, _ := s.(syscall.Signal)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.guard != nil:
		r.options.Logger.Info("signal forwarded to the command", "signal", s.String())
		r.send(request{Signal: number})
	case number != syscall.SIGUSR1 && number != syscall.SIGUSR2:
		r.end(signaled(number))
	}
}
