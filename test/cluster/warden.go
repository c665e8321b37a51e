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

//go:embed warden.sh
var wardenScript string

// launchScript holds a program back until its owner has told the warden about it. An owner killed
// between the two closes the gate, descriptor 3, unopened, and nothing is left behind. The program
// takes the shell's place, so the process id stays the one the warden was told.
const launchScript = `read -r open <&3 || exit 125
exec 3<&-
exec "$@"`

// warden is the owner's end of the pipe to warden.sh.
type warden struct {
	folder string

	mu     sync.Mutex // one line at a time, and no start once close has begun
	lines  io.WriteCloser
	closed bool
	cmd    *exec.Cmd
	// live counts the processes that have not been reaped. A process is reaped exactly once, by
	// the goroutine that start makes for it.
	live sync.WaitGroup
}

// newWarden starts a warden and makes folder, which must not exist. The warden comes first: there
// is no moment at which the folder exists and nothing would remove it.
func newWarden(folder string) (*warden, error) {
	cmd := exec.Command("/bin/sh", "-c", wardenScript, "fairlead-warden", folder)
	// A session of its own keeps the terminal's Ctrl-C and hang-up away from it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin:" + os.Getenv("PATH")}
	lines, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make the warden's pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the warden, which needs /bin/sh: %w", err)
	}
	w := &warden{folder: folder, lines: lines, cmd: cmd}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make the folder %s: %w", folder, err), w.close())
	}
	return w, nil
}

// tell sends one line. It fails when the warden is gone: then nothing more may be started.
func (w *warden) tell(verb string, pid int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := fmt.Fprintf(w.lines, "%s %d\n", verb, pid); err != nil {
		return fmt.Errorf("tell the warden of %s: %w", w.folder, err)
	}
	return nil
}

// start runs cmd in a process group of its own, under the warden. cmd.Path and cmd.Args are
// rewritten; cmd.ExtraFiles and cmd.SysProcAttr must be unset.
func (w *warden) start(cmd *exec.Cmd) (*process, error) {
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
	if err := w.admit(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		w.live.Done()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer w.live.Done()
		p.reap()
		// A lost line only means that the warden is gone too.
		_ = w.tell("forget", p.pid())
	}()
	if err = w.tell("watch", p.pid()); err == nil {
		_, err = opener.WriteString("go\n")
	}
	if err != nil {
		p.end(0)
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// admit counts one more process, unless close has begun.
func (w *warden) admit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errStopped
	}
	w.live.Add(1)
	return nil
}

// close waits for the processes, which the caller has ended, and then lets the warden remove the
// folder. It returns when both the folder and the warden are gone.
func (w *warden) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.live.Wait()
	w.mu.Lock()
	_ = w.lines.Close()
	w.mu.Unlock()

	// The warden has nothing left to wait for but rm. One that hangs (a dead disk) must not hang us.
	guard := time.AfterFunc(30*time.Second, func() { _ = w.cmd.Process.Kill() })
	defer guard.Stop()
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("the warden of %s: %w; remove that folder by hand", w.folder, err)
	}
	if _, err := os.Lstat(w.folder); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder %s is still there (%v); remove it by hand", w.folder, err)
	}
	return nil
}
