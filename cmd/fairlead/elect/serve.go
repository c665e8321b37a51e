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

// serve runs the command for one term. It returns when the command and all it started have ended.
func (g *Guard) serve(ctx context.Context) error {
	screen := controlled(g.Stdin)
	p, err := g.launch(ctx, screen)
	if err != nil {
		g.ended(outcome{err: err})
		return err
	}
	if p == nil {
		return nil
	}
	began := time.Now()
	g.Logger.Info("the command runs", "pid", p.pid)
	lost := g.tend(ctx, p)
	g.family.extinguish(p, func() {
		g.Logger.Info("what the command started cannot be killed; waiting for it before the Lease is let go", "group", p.pid)
	})
	g.word(ctx, watch{})
	if err := screen.back(); err != nil {
		g.Logger.Error(err, "cannot take the terminal back from the command")
	}
	g.family.forget(p.pid)
	g.ended(outcome{code: p.code(), lost: lost})
	g.Logger.Info("the command ended", "code", p.code(), "ranFor", time.Since(began).Round(time.Millisecond), "leaseLost", lost)
	return nil
}

// launch starts the command, unless an end was asked for since the Lease was won.
func (g *Guard) launch(ctx context.Context, screen *terminal) (*process, error) {
	command := exec.CommandContext(context.WithoutCancel(ctx), g.path, g.Command[1:]...) //nolint:gosec // to run what it is told is its purpose
	command.Args[0] = g.Command[0]
	var read, write *os.File
	if len(g.Aide) > 0 {
		var err error
		if read, write, err = os.Pipe(); err != nil {
			return nil, err
		}
		defer func() { _, _ = read.Close(), write.Close() }()
		command = g.aide(ctx, append([]string{aideBegin, g.path}, g.Command...)...)
		command.ExtraFiles = []*os.File{read} // the gate
	}
	// A nil *os.File in an interface would not be the null device.
	if g.Stdin != nil {
		command.Stdin = g.Stdin
	}
	if g.Stdout != nil {
		command.Stdout = g.Stdout
	}
	if g.Stderr != nil {
		command.Stderr = g.Stderr
	}
	command.Env = environment(g.tenure.written())
	command.SysProcAttr = ofCommand()
	screen.lend(command.SysProcAttr)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked != 0 {
		return nil, nil
	}
	p, err := g.family.start(command)
	switch {
	case err != nil && write == nil:
		return nil, notStarted{err}
	case err != nil:
		return nil, fmt.Errorf("start the command: %w", err)
	}
	g.running = p
	if write != nil {
		g.arm(ctx, p)
		// The machine may have slept since the Lease was won. From here on the watchman kills in time.
		if due, _ := g.tenure.due(); due == goOn {
			_, _ = write.Write([]byte{0}) // one that has died meanwhile is seen by the next wait for it
		}
	}
	return p, nil
}

// aide is a process of this very program.
func (g *Guard) aide(ctx context.Context, args ...string) *exec.Cmd {
	line := slices.Concat(g.Aide, args)
	return exec.CommandContext(context.WithoutCancel(ctx), line[0], line[1:]...) //nolint:gosec // what the program itself configures
}

func (g *Guard) ended(o outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running, g.outcome = nil, &o
}

// tend waits for the command to end, and ends it in time. It says whether the loss of the Lease
// ended it.
func (g *Guard) tend(ctx context.Context, p *process) (lost bool) {
	told := g.arm(ctx, p)
	given := goOn
	canceled := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	killed := false // by the watchman, while this process was stopped
	for {
		must := goOn
		select {
		case <-p.ended:
		case <-timer.C:
		case <-g.tenure.extended:
		case <-g.watchman.gone():
			g.replace(ctx)
			told = g.arm(ctx, p)
		case <-canceled:
			canceled = nil
			must = demanded(context.Cause(ctx))
		}
		killed = killed || elapsed() >= told
		due, wait := g.tenure.due()
		if must = max(must, due); must > given && exited(p.pid) {
			<-p.ended // it was faster, or this process slept: what ended by itself was not ended by a loss
		}
		select {
		case <-p.ended:
			return given > goOn || killed && p.code() == codeSignal+int(syscall.SIGKILL)
		default:
		}
		if must > given {
			given = must
			g.give(p, given)
		}
		if told != g.tenure.deadline() {
			told = g.arm(ctx, p)
		}
		timer.Reset(max(time.Millisecond, min(wait, beat)))
		if given == kill {
			timer.Stop()
		}
	}
}

// demanded is what the end of the term's context asks for. A Lease that another one holds is no
// longer ours for any grace. A context that ended otherwise is that of a wait that was
// over a moment before.
func demanded(cause error) order {
	switch {
	case errors.Is(cause, leaderelection.ErrTaken):
		return kill
	case errors.Is(cause, leaderelection.ErrLost):
		return terminate
	default:
		return goOn
	}
}

func (g *Guard) give(p *process, o order) {
	if o == kill {
		g.Logger.Info("the Lease is lost: SIGKILL to the command", "pid", p.pid)
		p.signal(syscall.SIGKILL)
		return
	}
	g.Logger.Info("the Lease is lost: SIGTERM to the command", "pid", p.pid, "grace", g.Grace)
	p.signal(syscall.SIGTERM)
	// A command that was stopped hears it only when it goes on.
	p.signal(syscall.SIGCONT)
}

// arm tells the watchman until when the command may live, and returns that.
func (g *Guard) arm(ctx context.Context, p *process) time.Duration {
	deadline := g.tenure.deadline()
	word := watch{p.pid, deadline}
	if !shared {
		word.deadline = forever
	}
	g.word(ctx, word)
	return deadline
}

// word passes a word to the watchman, or to a new one where the old one does not hear it.
func (g *Guard) word(ctx context.Context, w watch) {
	if g.watchman.tell(w) == nil {
		return
	}
	g.replace(ctx)
	if err := g.watchman.tell(w); err != nil {
		g.Logger.Error(err, unwatched)
	}
}

// unwatched is what it means to have no watchman. The command goes on: this process still ends it.
const unwatched = "no watchman: if this process is killed or stopped, the command may outlive the Lease"

// replace puts another watchman in the place of one that ended or does not listen, unless that one
// has only just begun: the next would fare no better.
func (g *Guard) replace(ctx context.Context) {
	lasted := time.Since(g.watchman.began)
	g.dismiss()
	if lasted < time.Second {
		g.Logger.Error(fmt.Errorf("it ended after %s", lasted.Round(time.Millisecond)), unwatched)
		return
	}
	g.Logger.Info("the watchman does not listen; here is another", "lasted", lasted.Round(time.Second))
	if err := g.post(ctx); err != nil {
		g.Logger.Error(err, unwatched)
	}
}
