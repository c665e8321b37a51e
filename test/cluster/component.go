// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	defaultStartTimeout = 2 * time.Minute
	defaultGrace        = 10 * time.Second
	probeEvery          = 25 * time.Millisecond
	probeTimeout        = 5 * time.Second
	// portAttempts bounds how often a component is started again because another process took its
	// port between the moment it was found free and the moment the component listened on it.
	portAttempts = 5
)

// errPortTaken is the one failure of a start that another try with another port mends.
var errPortTaken = errors.New("its port was taken by another process")

// errEnded is a program that gave up by itself.
var errEnded = errors.New("ended before it was ready")

// Spec says how to run one program beside the others of a cluster.
type Spec struct {
	// Name is unique in the cluster. The log file is called after it.
	Name string
	// Path of the program.
	Path string
	// Args returns the arguments. It is called once for every attempt of the first start, so that
	// it may choose another port after a port was taken; a restart uses the last ones again. Nil
	// means none.
	Args func() ([]string, error)
	// Env is added to the environment of this process, as NAME=value.
	Env []string
	// Ready is asked again and again until it returns nil. Its context ends after 5 s. Nil means
	// ready as soon as the program runs.
	Ready func(context.Context) error
	// StartTimeout is how long it may take to become ready. Default 2 min.
	StartTimeout time.Duration
	// Attempts is how often a start is tried of a program that ends by itself before it is ready.
	// Default 1.
	Attempts int
	// Grace is how long it may take to end after SIGTERM before it is killed. Default 10 s.
	Grace time.Duration
}

// Component is one program of a running cluster. Its methods may be called from any goroutine.
type Component struct {
	cluster *Cluster
	spec    Spec
	logPath string

	op sync.Mutex // one start or stop at a time

	mu      sync.Mutex // guards what follows
	args    []string
	current *process // nil before the first start
	logFrom int64    // where the log of the current process begins
}

// Name is the name the component was started under, such as "kube-apiserver".
func (k *Component) Name() string { return k.spec.Name }

// LogPath is the file that takes the output of the component, across restarts.
func (k *Component) LogPath() string { return k.logPath }

// Logs returns the end of the log, at most 1 MiB, across restarts.
func (k *Component) Logs() (string, error) { return tail(k.logPath, 0, 1<<20) }

// PID is the process id of the component, or 0 when it does not run.
func (k *Component) PID() int {
	if p := k.process(); p != nil && p.running() {
		return p.pid()
	}
	return 0
}

// Start runs the component again after Stop, Kill or its own end, with the arguments it had, and
// returns once it is ready. It is an error if it runs.
func (k *Component) Start(ctx context.Context) error {
	k.op.Lock()
	defer k.op.Unlock()
	return k.start(ctx)
}

// Stop ends the component as a rollout would: SIGTERM, and SIGKILL after its grace. Its data stays.
func (k *Component) Stop() { k.end(k.spec.Grace) }

// Kill ends the component as a crash would, with SIGKILL.
func (k *Component) Kill() { k.end(0) }

// Restart is Stop and Start: same ports, same data.
func (k *Component) Restart(ctx context.Context) error {
	k.op.Lock()
	defer k.op.Unlock()
	if p := k.process(); p != nil {
		p.end(k.spec.Grace)
	}
	return k.start(ctx)
}

// Wait returns once the current process has ended: nil for exit status 0, else an *exec.ExitError,
// or the cause of ctx.
func (k *Component) Wait(ctx context.Context) error {
	p := k.process()
	if p == nil {
		return fmt.Errorf("%s never ran", k.spec.Name)
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *Component) process() *process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

func (k *Component) end(grace time.Duration) {
	k.op.Lock()
	defer k.op.Unlock()
	if p := k.process(); p != nil {
		p.end(grace)
	}
}

// first starts the component, with new arguments as long as its port turns out to be taken.
func (k *Component) first(ctx context.Context) error {
	k.op.Lock()
	defer k.op.Unlock()
	for attempt := 1; ; attempt++ {
		if k.spec.Args != nil {
			args, err := k.spec.Args()
			if err != nil {
				return fmt.Errorf("%s: arguments: %w", k.spec.Name, err)
			}
			k.mu.Lock()
			k.args = args
			k.mu.Unlock()
		}
		err := k.start(ctx)
		if !errors.Is(err, errPortTaken) || attempt == portAttempts {
			return err
		}
	}
}

// start runs the program until it is ready, more than once where its spec says so.
func (k *Component) start(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := k.launch(ctx)
		if !errors.Is(err, errEnded) || attempt >= k.spec.Attempts {
			return err
		}
		k.cluster.printf("%v; once more", err)
	}
}

func (k *Component) launch(ctx context.Context) error {
	if k.cluster.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", k.spec.Name, errStopped)
	}
	if k.PID() != 0 {
		return fmt.Errorf("%s runs already", k.spec.Name)
	}
	log, err := os.OpenFile(k.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("%s: open its log: %w", k.spec.Name, err)
	}
	defer func() { _ = log.Close() }()
	stat, err := log.Stat()
	if err != nil {
		return fmt.Errorf("%s: open its log: %w", k.spec.Name, err)
	}

	k.mu.Lock()
	cmd := exec.Command(k.spec.Path, k.args...)
	k.mu.Unlock()
	cmd.Dir = k.cluster.folder
	cmd.Env = append(os.Environ(), k.spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := k.cluster.supervisor.start(cmd)
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.current, k.logFrom = p, stat.Size()
	k.mu.Unlock()

	if err := k.awaitReady(ctx, p); err != nil {
		p.end(0)
		return err
	}
	go k.report(p)
	return nil
}

// awaitReady polls Ready until it succeeds, the process ends, or the time is up.
func (k *Component) awaitReady(ctx context.Context, p *process) error {
	if k.spec.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, k.spec.StartTimeout,
		fmt.Errorf("not ready after %v", k.spec.StartTimeout))
	defer cancel()
	ctx, stop := whileBoth(ctx, k.cluster.ctx)
	defer stop()

	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		notReady := k.spec.Ready(probe)
		cancel()
		if notReady == nil && p.running() {
			return nil
		}
		select {
		case <-p.done:
			return k.died(p)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last answer: %v)%s", k.spec.Name, context.Cause(ctx), notReady, k.lastLines())
		case <-ticker.C:
		}
	}
}

// died is the error of a process that ended before it was ready.
func (k *Component) died(p *process) error {
	lines := k.lastLines()
	if strings.Contains(lines, "address already in use") || strings.Contains(lines, "in use by another process") {
		return fmt.Errorf("%s: %w (%s)%s", k.spec.Name, errPortTaken, p.howItEnded(), lines)
	}
	return fmt.Errorf("%s %w: %s%s", k.spec.Name, errEnded, p.howItEnded(), lines)
}

// report says on the cluster's output that a process ended although it was not asked to. It ends
// with the process.
func (k *Component) report(p *process) {
	<-p.done
	if !p.asked.Load() {
		k.cluster.printf("%s ended: %s%s", k.spec.Name, p.howItEnded(), k.lastLines())
	}
}

// lastLines shows the end of what the current process logged.
func (k *Component) lastLines() string {
	k.mu.Lock()
	from := k.logFrom
	k.mu.Unlock()
	text, err := tail(k.logPath, from, 4<<10)
	if err != nil {
		return fmt.Sprintf("; its log cannot be read: %v", err)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return "; it logged nothing"
	}
	return fmt.Sprintf("; the end of its log (%s):\n%s", filepath.Base(k.logPath), text)
}
