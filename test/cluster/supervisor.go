// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

//go:embed supervisor.sh
var supervisorScript string

// launchScript holds a program back until its owner has told the supervisor about it. An owner killed
// between the two closes the gate, descriptor 3, unopened, and nothing is left behind. The program
// takes the shell's place, so the process id stays the one the supervisor was told.
const launchScript = `read -r open <&3 || exit 125
exec 3<&-
exec "$@"`

// supervisor is the owner's end of the pipe to supervisor.sh.
type supervisor struct {
	folder string

	mu     sync.Mutex // one line at a time, and no start once close has begun
	lines  io.WriteCloser
	closed bool
	cmd    *exec.Cmd
	// live counts the processes that have not been reaped. A process is reaped exactly once, by
	// the goroutine that start makes for it.
	live sync.WaitGroup
}

// newSupervisor starts a supervisor and makes folder, which must not exist. The supervisor comes first: there
// is no moment at which the folder exists and nothing would remove it.
func newSupervisor(folder string) (*supervisor, error) {
	cmd := exec.Command("/bin/sh", "-c", supervisorScript, "fairlead-supervisor", folder)
	// A session of its own keeps the terminal's Ctrl-C and hang-up away from it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin:" + os.Getenv("PATH")}
	lines, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make the supervisor's pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the supervisor, which needs /bin/sh: %w", err)
	}
	s := &supervisor{folder: folder, lines: lines, cmd: cmd}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make the folder %s: %w", folder, err), s.close())
	}
	return s, nil
}

// tell sends one line. It fails when the supervisor is gone: then nothing more may be started.
func (s *supervisor) tell(verb string, pid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintf(s.lines, "%s %d\n", verb, pid); err != nil {
		return fmt.Errorf("tell the supervisor of %s: %w", s.folder, err)
	}
	return nil
}

// start runs cmd in a process group of its own, under the supervisor. cmd.Path and cmd.Args are
// rewritten; cmd.ExtraFiles and cmd.SysProcAttr must be unset.
func (s *supervisor) start(cmd *exec.Cmd) (*process, error) {
	name := filepath.Base(cmd.Path)
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	gate, opener, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = gate.Close(); _ = opener.Close() }()

	cmd.Args = append([]string{"/bin/sh", "-c", launchScript, name, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.ExtraFiles = []*os.File{gate}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.admit(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		s.live.Done()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer s.live.Done()
		p.reap()
		// A lost line only means that the supervisor is gone too.
		_ = s.tell("forget", p.pid())
	}()
	if err = s.tell("watch", p.pid()); err == nil {
		_, err = opener.WriteString("go\n")
	}
	if err != nil {
		p.end(0)
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// admit counts one more process, unless close has begun.
func (s *supervisor) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errStopped
	}
	s.live.Add(1)
	return nil
}

// close waits for the processes, which the caller has ended, and then lets the supervisor remove the
// folder. It returns when both the folder and the supervisor are gone.
func (s *supervisor) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.live.Wait()
	s.mu.Lock()
	_ = s.lines.Close()
	s.mu.Unlock()

	// The supervisor has nothing left to wait for but rm. One that hangs (a dead disk) must not hang us.
	guard := time.AfterFunc(30*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer guard.Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the supervisor of %s: %w; remove that folder by hand", s.folder, err)
	}
	if _, err := os.Lstat(s.folder); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder %s is still there (%v); remove it by hand", s.folder, err)
	}
	return nil
}
