// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is the command that runs.
type process struct {
	command *exec.Cmd
	pid     int           // of its group, too
	ended   chan struct{} // closed when it has ended; what it started may still run
}

// start starts the command. An error says that nothing runs.
func (f *family) start(command *exec.Cmd) (*process, error) {
	p := &process{command: command, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The signal on the death of the parent comes when this thread ends: golang/go#27505.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := f.bear(command)
		if err == nil {
			p.pid = command.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		defer close(p.ended)
		awaitExit(p.pid)
		p.signal(syscall.SIGKILL) // the rest of the group, while its number cannot be another's
		_ = command.Wait()        // the exit code is in ProcessState
	}()
	return p, <-started
}

// signal sends to the group. An empty group is no error.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid, s) }

// code is the exit code of a command that has ended, as a shell would put it.
func (p *process) code() int {
	if status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return p.command.ProcessState.ExitCode()
}

// family are the children of this process. All are of one lock: a child that has ended must not be
// taken for an orphan before it is known.
type family struct {
	mu  sync.Mutex
	own []int
}

func (f *family) bear(command *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := command.Start(); err != nil {
		return err
	}
	f.own = append(f.own, command.Process.Pid)
	return nil
}

// forget is for a child that has been waited for: its number may be given to an orphan.
func (f *family) forget(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, own := range f.own {
		if own == pid {
			f.own = append(f.own[:i], f.own[i+1:]...)
			return
		}
	}
}

// bury reaps orphans that have ended, and says how many have not. With a signal above 0 those get it.
func (f *family) bury(s syscall.Signal) (alive int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pid := range adopted(f.own...) {
		if s > 0 {
			_ = syscall.Kill(pid, s)
		}
		if reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err == nil && reaped == 0 {
			alive++
		}
	}
	return alive
}

// extinguish kills what a command that has ended left behind, and returns when nothing is left. It
// calls late once where that takes long.
func (f *family) extinguish(p *process, late func()) {
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	began := time.Now()
	for {
		left := f.bury(syscall.SIGKILL)
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
