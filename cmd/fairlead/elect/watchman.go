// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// beat is how long after the machine wakes up, at most, a deadline that passed meanwhile is noticed:
// timers stand still in its sleep.
const beat = 200 * time.Millisecond

// watch is one word to the watchman: which group to kill, and when. A group of 0 is none.
type watch struct {
	group    int
	deadline time.Duration
}

// Watch kills a process group when its deadline passes, or when orders end, which they do when the
// process that gives them dies. It returns then. It heeds no signal that asks to end: the sender of
// one to all processes of a container or a terminal does not mean the last that watches.
func Watch(orders io.Reader) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP)
	return watchman{now: elapsed, kill: func(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }}.run(orders)
}

type watchman struct {
	now  func() time.Duration
	kill func(group int)
}

func (w watchman) run(orders io.Reader) error {
	words, failed := make(chan watch), make(chan error, 1)
	go func() {
		defer close(words)
		lines := bufio.NewScanner(orders)
		for lines.Scan() {
			var word watch
			if _, err := fmt.Sscan(lines.Text(), &word.group, (*int64)(&word.deadline)); err != nil {
				failed <- fmt.Errorf("order %q: %w", lines.Text(), err)
				return
			}
			words <- word
		}
	}()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	due := time.NewTimer(forever)
	defer due.Stop()
	var on watch
	for {
		select {
		case word, open := <-words:
			if !open {
				w.end(&on)
				select {
				case err := <-failed:
					return err
				default:
					return nil
				}
			}
			on = word
			due.Reset(max(0, on.deadline-w.now()))
		case <-tick.C:
		case <-due.C:
		}
		if on.group > 1 && w.now() >= on.deadline {
			w.end(&on)
		}
	}
}

// end kills the group that is watched, once.
func (w watchman) end(on *watch) {
	if on.group > 1 {
		w.kill(on.group)
	}
	*on = watch{}
}

// orders is the way to a watchman that runs. A nil one leads nowhere.
type orders struct {
	to      *os.File
	process *os.Process
	ended   chan struct{}
	began   time.Time
}

// tell passes a word on, without waiting for a watchman that does not listen.
func (o *orders) tell(word watch) error {
	if o == nil {
		return nil
	}
	if err := o.to.SetWriteDeadline(time.Now().Add(beat)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.to, "%d %d\n", word.group, word.deadline)
	return err
}

// gone is closed when the watchman has ended.
func (o *orders) gone() <-chan struct{} {
	if o == nil {
		return nil
	}
	return o.ended
}

// post starts the watchman, where one is wanted.
func (g *Guard) post(ctx context.Context) error {
	if len(g.Aide) == 0 {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the watchman: %w", err)
	}
	defer func() { _ = read.Close() }()
	command := g.aide(ctx, aideWatch)
	command.Stdin, command.Stderr = read, g.Stderr
	// Away from the signals of a terminal.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := g.family.bear(command); err != nil {
		_ = write.Close()
		return fmt.Errorf("start the watchman: %w", err)
	}
	o := &orders{to: write, ended: make(chan struct{}), process: command.Process, began: time.Now()}
	go func() {
		defer close(o.ended)
		_ = command.Wait()
		g.family.forget(command.Process.Pid)
	}()
	g.watchman = o
	return nil
}

// dismiss ends the watchman and waits for it. Its orders end after that: it would kill otherwise.
func (g *Guard) dismiss() {
	if g.watchman == nil {
		return
	}
	_ = g.watchman.process.Kill()
	<-g.watchman.ended
	_ = g.watchman.to.Close()
	g.watchman = nil
}
