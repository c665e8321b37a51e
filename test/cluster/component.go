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
	probeEvery          = 100 * time.Millisecond // each is a TLS handshake, while what it asks starts
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
func (c *Component) Name() string { return c.spec.Name }

// LogPath is the file that takes the output of the component, across restarts.
func (c *Component) LogPath() string { return c.logPath }

// Logs returns the end of the log, at most 1 MiB, across restarts.
func (c *Component) Logs() (string, error) { return tail(c.logPath, 0, 1<<20) }

// PID is the process id of the component, or 0 when it does not run.
func (c *Component) PID() int {
	if p := c.process(); p != nil && p.running() {
		return p.pid()
	}
	return 0
}

// Start runs the component again after Stop, Kill or its own end, with the arguments it had, and
// returns once it is ready. It is an error if it runs.
func (c *Component) Start(ctx context.Context) error {
	c.op.Lock()
	defer c.op.Unlock()
	return c.start(ctx)
}

// Stop ends the component as a rollout would: SIGTERM, and SIGKILL after its grace. Its data stays.
func (c *Component) Stop() { c.end(c.spec.Grace) }

// Kill ends the component as a crash would, with SIGKILL.
func (c *Component) Kill() { c.end(0) }

// Restart is Stop and Start: same ports, same data.
func (c *Component) Restart(ctx context.Context) error {
	c.op.Lock()
	defer c.op.Unlock()
	if p := c.process(); p != nil {
		p.end(c.spec.Grace)
	}
	return c.start(ctx)
}

// Wait returns once the current process has ended: nil for exit status 0, else an *exec.ExitError,
// or the cause of ctx.
func (c *Component) Wait(ctx context.Context) error {
	p := c.process()
	if p == nil {
		return fmt.Errorf("%s never ran", c.spec.Name)
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Component) process() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

func (c *Component) end(grace time.Duration) {
	c.op.Lock()
	defer c.op.Unlock()
	if p := c.process(); p != nil {
		p.end(grace)
	}
}

// first starts the component, with new arguments as long as its port turns out to be taken.
func (c *Component) first(ctx context.Context) error {
	c.op.Lock()
	defer c.op.Unlock()
	for attempt := 1; ; attempt++ {
		if c.spec.Args != nil {
			args, err := c.spec.Args()
			if err != nil {
				return fmt.Errorf("%s: arguments: %w", c.spec.Name, err)
			}
			c.mu.Lock()
			c.args = args
			c.mu.Unlock()
		}
		err := c.start(ctx)
		if !errors.Is(err, errPortTaken) || attempt == portAttempts {
			return err
		}
	}
}

// start runs the program until it is ready, more than once where its spec says so.
func (c *Component) start(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := c.launch(ctx)
		if !errors.Is(err, errEnded) || attempt >= c.spec.Attempts {
			return err
		}
		c.cluster.printf("%v; once more", err)
	}
}

func (c *Component) launch(ctx context.Context) error {
	if c.cluster.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.spec.Name, errStopped)
	}
	if c.PID() != 0 {
		return fmt.Errorf("%s runs already", c.spec.Name)
	}
	log, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("%s: open its log: %w", c.spec.Name, err)
	}
	defer func() { _ = log.Close() }()
	stat, err := log.Stat()
	if err != nil {
		return fmt.Errorf("%s: open its log: %w", c.spec.Name, err)
	}

	c.mu.Lock()
	cmd := exec.Command(c.spec.Path, c.args...)
	c.mu.Unlock()
	cmd.Dir = c.cluster.folder
	cmd.Env = append(os.Environ(), c.spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := c.cluster.supervisor.start(cmd)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.current, c.logFrom = p, stat.Size()
	c.mu.Unlock()

	if err := c.awaitReady(ctx, p); err != nil {
		p.end(0)
		return err
	}
	go c.report(p)
	return nil
}

// awaitReady polls Ready until it succeeds, the process ends, or the time is up.
func (c *Component) awaitReady(ctx context.Context, p *process) error {
	if c.spec.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.spec.StartTimeout,
		fmt.Errorf("not ready after %v", c.spec.StartTimeout))
	defer cancel()
	ctx, stop := whileBoth(ctx, c.cluster.ctx)
	defer stop()

	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		notReady := c.spec.Ready(probe)
		cancel()
		if notReady == nil && p.running() {
			return nil
		}
		select {
		case <-p.done:
			return c.died(p)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last answer: %v)%s", c.spec.Name, context.Cause(ctx), notReady, c.lastLines())
		case <-ticker.C:
		}
	}
}

// died is the error of a process that ended before it was ready.
func (c *Component) died(p *process) error {
	lines := c.lastLines()
	if strings.Contains(lines, "address already in use") || strings.Contains(lines, "in use by another process") {
		return fmt.Errorf("%s: %w (%s)%s", c.spec.Name, errPortTaken, p.howItEnded(), lines)
	}
	return fmt.Errorf("%s %w: %s%s", c.spec.Name, errEnded, p.howItEnded(), lines)
}

// report says on the cluster's output that a process ended although it was not asked to. It ends
// with the process.
func (c *Component) report(p *process) {
	<-p.done
	if !p.asked.Load() {
		c.cluster.printf("%s ended: %s%s", c.spec.Name, p.howItEnded(), c.lastLines())
	}
}

// lastLines shows the end of what the current process logged.
func (c *Component) lastLines() string {
	c.mu.Lock()
	from := c.logFrom
	c.mu.Unlock()
	text, err := tail(c.logPath, from, 4<<10)
	if err != nil {
		return fmt.Sprintf("; its log cannot be read: %v", err)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return "; it logged nothing"
	}
	return fmt.Sprintf("; the end of its log (%s):\n%s", filepath.Base(c.logPath), text)
}
