// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// Runner runs one command under one Lease.
type Runner struct {
	Options
	path     string // of the command
	elector  *leaderelection.Elector
	lease    *leaseDeadline
	refusals *refusals
	children *children
	watchdog *watchdogProcess

	mu         sync.Mutex // protects the fields below
	process    *process
	stopSignal syscall.Signal // that asked to stop; 0 for none
	outcome    *outcome       // of the command that ran last
}

// outcome is how a command ended.
type outcome struct {
	code int
	lost bool
	err  error // it did not start
}

// New validates the options. Errors name the durations that do not fit each other.
func New(o Options) (*Runner, error) {
	deadline := newLeaseDeadline(clock, o.RenewDeadline, o.Grace)
	if err := validNames(o.Namespace, o.Name); err != nil {
		return nil, err
	}
	refused := newRefusals(o.Namespace+"/"+o.Name, clock)
	elector, err := o.newElector(recordingClient{o.Leases, o.Identity, deadline, refused})
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(o.Command[0])
	if err != nil {
		return nil, startError{err}
	}
	return &Runner{Options: o, path: path, elector: elector, lease: deadline, refusals: refused, children: &children{}}, nil
}

// Notify returns the signals for the command, without those that the parent of this process ignores, as
// nohup(1) does. They are no longer received after stop.
func Notify() (signals <-chan os.Signal, stop func()) {
	received := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(received, s)
		}
	}
	return received, func() { signal.Stop(received) }
}

// Run waits for the Lease, runs the command and returns the exit code, which is the command's where it ended
// by itself. An error says why it is another one. The end of ctx is treated as SIGTERM.
func (r *Runner) Run(ctx context.Context) (int, error) {
	if err := becomeSubreaper(); err != nil {
		r.Logger.Error(err, "cannot become the parent of orphans: what leaves the command's process group is not ended with it")
	}
	if err := r.startWatchdog(ctx); err != nil {
		return CodeFailed, err
	}
	defer r.stopWatchdog()

	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	r.refusals.cancel = cancel
	var serving sync.WaitGroup
	defer serving.Wait()
	stopped := make(chan struct{})
	defer close(stopped)
	serving.Go(func() { r.forwardSignals(ctx, cancel, stopped) })

	for {
		err := r.elector.Run(waiting, r.runTerm)
		switch ended, asked := r.takeOutcome(); {
		case ended == nil && asked == 0:
			return CodeFailed, cmp.Or(r.refusals.err(), err)
		case ended == nil:
			return codeSignal + int(asked), nil
		case ended.err != nil:
			return Code(ended.err), ended.err
		case !ended.lost:
			return ended.code, nil
		case !r.Demote || asked != 0:
			return CodeLost, fmt.Errorf("lost the Lease %s/%s: the command was ended", r.Namespace, r.Name)
		}
		r.Logger.Info("candidate again", "lease", r.Namespace+"/"+r.Name)
	}
}

// takeOutcome returns how the command of the last term ended, nil where none ran, and the signal that asked to
// stop.
func (r *Runner) takeOutcome() (*outcome, syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.outcome
	r.outcome = nil
	return ended, r.stopSignal
}

// forwardSignals forwards signals to the command, and ends the wait where none runs.
func (r *Runner) forwardSignals(ctx context.Context, cancel context.CancelFunc, stopped <-chan struct{}) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	done := ctx.Done()
	for {
		select {
		case <-stopped:
			return
		case <-children:
			r.children.reap(0)
		case s := <-r.Signals:
			if s, ok := s.(syscall.Signal); ok {
				r.handleSignal(s, cancel)
			}
		case <-done:
			done = nil
			r.handleSignal(syscall.SIGTERM, cancel)
		}
	}
}

func (r *Runner) handleSignal(s syscall.Signal, cancel context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != nil {
		r.Logger.Info("signal forwarded to the command", "signal", s.String())
		r.process.signal(s)
		// These ask to stop: if the Lease is lost before the command has ended, it is not run again.
		if r.stopSignal == 0 && (s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGQUIT) {
			r.stopSignal = s
		}
		return
	}
	if r.stopSignal == 0 && s != syscall.SIGUSR1 && s != syscall.SIGUSR2 {
		r.stopSignal = s
		cancel()
	}
}
