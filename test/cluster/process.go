// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// process is one running program and its process group.
type process struct {
	cmd   *exec.Cmd
	done  chan struct{} // closed once the process has been reaped
	err   error         // how it ended; read only after done
	asked atomic.Bool   // end was called: its end is expected
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// reap waits for the process to end, and takes what it left in its group along.
func (p *process) reap() {
	p.err = p.cmd.Wait()
	p.signal(syscall.SIGKILL)
	close(p.done)
}

// signal reaches the whole group, so that a program's own children end with it. A group that is gone is no error.
func (p *process) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.pid(), s)
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end asks the process to end, insists after grace, and returns once it has ended. It signals
// nothing that has been reaped: the number may belong to another process by then.
func (p *process) end(grace time.Duration) {
	p.asked.Store(true)
	if !p.running() {
		return
	}
	if grace > 0 {
		p.signal(syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}

// howItEnded describes the end of a process that was not asked to end.
func (p *process) howItEnded() string {
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}
