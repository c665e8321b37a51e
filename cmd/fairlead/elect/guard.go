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

// Guard runs one command under one Lease.
type Guard struct {
	Options
	path     string // of the command
	elector  *leaderelection.Elector
	tenure   *tenure
	refusals *refusals
	family   *family
	watchman *orders

	mu      sync.Mutex // guards what follows
	running *process
	asked   syscall.Signal // to end, by a signal; 0 while none was received
	outcome *outcome       // of the command that ran last
}

// outcome is how a command ended.
type outcome struct {
	code int
	lost bool
	err  error // it did not even start
}

// New validates the options. Errors say which duration does not fit which.
func New(o Options) (*Guard, error) {
	t := newTenure(elapsed, o.RenewDeadline, o.Grace)
	if err := validNames(o.Namespace, o.Name); err != nil {
		return nil, err
	}
	refused := newRefusals(o.Namespace+"/"+o.Name, elapsed)
	elector, err := o.validated(noting{o.Leases, o.Identity, t, refused})
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(o.Command[0])
	if err != nil {
		return nil, notStarted{err}
	}
	return &Guard{Options: o, path: path, elector: elector, tenure: t, refusals: refused, family: &family{}}, nil
}

// Notify returns the signals that are for the command, without those that the starter of this
// process wants ignored, as nohup(1) does. They are no longer received after stop.
func Notify() (signals <-chan os.Signal, stop func()) {
	received := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(received, s)
		}
	}
	return received, func() { signal.Stop(received) }
}

// Run waits for the Lease, runs the command and returns the exit code, which is the command's
// where it ended by itself. An error says why it is another. The end of ctx is as SIGTERM.
func (g *Guard) Run(ctx context.Context) (int, error) {
	if err := adopt(); err != nil {
		g.Logger.Error(err, "cannot adopt orphans: what leaves the command's process group is not ended with it")
	}
	if err := g.post(ctx); err != nil {
		return CodeFailed, err
	}
	defer g.dismiss()

	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	g.refusals.end = cancel
	var serving sync.WaitGroup
	defer serving.Wait()
	over := make(chan struct{})
	defer close(over)
	serving.Go(func() { g.dispatch(ctx, cancel, over) })

	for {
		err := g.elector.Run(waiting, g.serve)
		switch ended, asked := g.last(); {
		case ended == nil && asked == 0:
			return CodeFailed, cmp.Or(g.refusals.reason(), err)
		case ended == nil:
			return codeSignal + int(asked), nil
		case ended.err != nil:
			return Code(ended.err), ended.err
		case !ended.lost:
			return ended.code, nil
		case !g.Demote || asked != 0:
			return CodeLost, fmt.Errorf("lost the Lease %s/%s: the command was ended", g.Namespace, g.Name)
		}
		g.Logger.Info("candidate again", "lease", g.Namespace+"/"+g.Name)
	}
}

// last returns how the command of the last term ended, nil where none ran, and the signal by which
// an end was asked for.
func (g *Guard) last() (*outcome, syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ended := g.outcome
	g.outcome = nil
	return ended, g.asked
}

// dispatch passes signals on to the command, and ends the wait where nothing runs.
func (g *Guard) dispatch(ctx context.Context, cancel context.CancelFunc, over <-chan struct{}) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	done := ctx.Done()
	for {
		select {
		case <-over:
			return
		case <-children:
			g.family.bury(0)
		case s := <-g.Signals:
			if s, ok := s.(syscall.Signal); ok {
				g.signaled(s, cancel)
			}
		case <-done:
			done = nil
			g.signaled(syscall.SIGTERM, cancel)
		}
	}
}

func (g *Guard) signaled(s syscall.Signal, cancel context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running != nil {
		g.Logger.Info("signal passed on to the command", "signal", s.String())
		g.running.signal(s)
		// The others are a request to the command. These ask for an end: if the Lease is lost before
		// it comes, the command is not run again.
		if g.asked == 0 && (s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGQUIT) {
			g.asked = s
		}
		return
	}
	if g.asked == 0 && s != syscall.SIGUSR1 && s != syscall.SIGUSR2 {
		g.asked = s
		cancel()
	}
}
