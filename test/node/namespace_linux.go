// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The variable tells the program which of its three lives this is: on the host (none), the first
// process of the namespaces, or the one inside that does the work.
const (
	stageVariable = "FAIRLEAD_NODE_STAGE"
	stageFirst    = "first"
	stageInside   = "inside"
)

// grace is how long the inside may take to end in order.
const grace = time.Minute

// EnterOptions of Enter.
type EnterOptions struct {
	// Root is the checkout. One node runs per checkout at a time.
	Root string
	// Report takes what the inside writes to Report. Default: none.
	Report io.Writer
}

// Enter runs this program again, with the same arguments, in namespaces of its own. It returns its exit code once nothing of it
// is left. When ctx ends, the program gets a signal to end. Should this process be killed, the kernel ends the inside with it.
func Enter(ctx context.Context, o EnterOptions) (code int, err error) {
	unlock, err := lock(filepath.Join(o.Root, "bin", "node"))
	if err != nil {
		return 0, err
	}
	defer unlock()
	name := fmt.Sprintf("fairlead-node-%.8x", sha256.Sum256([]byte(o.Root)))
	g, err := newGroup(ctx, controlGroups, name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, g.remove(ctx)) }()

	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("start the namespaces: %w", err)
	}
	report, reports, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("start the namespaces: %w", err)
	}
	defer func() { _ = report.Close() }()
	cmd := exec.CommandContext(ctx, program, os.Args[1:]...) //nolint:gosec // this very program, as it was called
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdout, os.Stderr, []*os.File{reports}
	cmd.Env = append(os.Environ(), stageVariable+"="+stageFirst, groupVariable+"="+name)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		// The kernel means the thread that made the child, so that one must not end before.
		Pdeathsig: syscall.SIGKILL,
		// Ctrl-C is for this process, which passes it on.
		Setsid: true,
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	err = cmd.Start()
	_ = reports.Close() // the child has its own
	if err != nil {
		return 0, fmt.Errorf("start the namespaces: %w", err)
	}
	if o.Report == nil {
		o.Report = io.Discard
	}
	_, copyErr := io.Copy(o.Report, io.LimitReader(report, 16<<20))
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), copyErr
	}
	return 0, errors.Join(err, copyErr)
}

// lock makes sure that one node runs per checkout. The kernel frees it with its holder.
func lock(folder string) (func(), error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // a folder of programs
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another node of this checkout runs (lock %s): %w", f.Name(), err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// Inside says whether this process is the one that does the work.
func Inside() bool { return os.Getenv(stageVariable) == stageInside }

// Report is the pipe to Enter's Report. Close it after use.
func Report() *os.File { return os.NewFile(3, "report") }

// First does the work of the namespaces' first process, if this is that one, and returns the code to
// exit with: it prepares the mounts, runs the program inside, and takes in every process that has
// lost its parent, as containers' shims make them.
func First() (code int, first bool, err error) {
	if os.Getenv(stageVariable) != stageFirst {
		return 0, false, nil
	}
	program, err := os.Executable()
	if err != nil {
		return 1, true, err
	}
	if err := mounts(); err != nil {
		return 1, true, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	pid, err := syscall.ForkExec(program, os.Args, &syscall.ProcAttr{Env: insideEnvironment(), Files: []uintptr{0, 1, 2, 3}}) //nolint:gosec // as above
	if err != nil {
		return 1, true, fmt.Errorf("start the inside: %w", err)
	}
	if err := Report().Close(); err != nil { // or its reader would wait for this process too
		return 1, true, err
	}
	go func() { // ends with the process
		for range signals {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}()
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1, true, fmt.Errorf("wait for the inside: %w", err)
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal()), true, nil
		case ended == pid:
			return status.ExitStatus(), true, nil
		}
	}
}

// insideEnvironment holds each variable once: of two, the inside would read the first.
func insideEnvironment() []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, stageVariable+"=") || strings.HasPrefix(entry, "TMPDIR=")
	})
	return append(env, stageVariable+"="+stageInside, "TMPDIR="+temporary)
}
