// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
)

// The test binary is also the processes that the tests start: signals, stops and deaths of this one
// would end the tests.
func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case "elect":
		os.Exit(elect(os.Args[2:]))
	case "guard":
		code, err := GuardMain(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)), os.Args[2:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	case "alone":
		os.Exit(alone(os.Args[2]))
	default:
		// As under nohup, and in the background of a shell: what is caught here has its default action in new processes.
		for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
			if signal.Ignored(s) {
				signal.Notify(make(chan os.Signal, 1), s)
			}
		}
		_ = flag.Set("test.parallel", "16") // they wait for Leases to run out, most of the time
		os.Exit(m.Run())
	}
}

func elect(args []string) int {
	var o Options
	flags := flag.NewFlagSet("elect", flag.ExitOnError)
	server := flags.String("server", "", "")
	flags.StringVar(&o.Identity, "id", "a", "")
	flags.DurationVar(&o.LeaseDuration, "lease", lease, "")
	flags.DurationVar(&o.RenewDeadline, "renew", renewal, "")
	flags.DurationVar(&o.RetryPeriod, "retry", 400*time.Millisecond, "")
	flags.DurationVar(&o.Grace, "grace", deadline-renewal, "")
	if err := flags.Parse(args); err != nil {
		return 1
	}
	client, err := coordinationv1client.NewForConfig(&rest.Config{Host: *server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	o.Leases, o.Namespace, o.Name, o.Command, o.Guard = client, "default", "turn", flags.Args(), []string{os.Args[0], "guard"}
	o.Logger = logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
	g, err := New(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return Code(err)
	}
	code, err := g.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// alone is a command that must not run twice. It says so, or that it runs, in a file that all share,
// and stays until it is killed.
func alone(path string) int {
	signal.Ignore(syscall.SIGTERM)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_, _ = fmt.Fprintln(file, "twice")
		return 1
	}
	_, _ = fmt.Fprintln(file, "runs", os.Getenv(EnvHolder))
	for { // without a timer, the runtime may end the process: no goroutine could ever run again
		<-time.After(time.Hour)
	}
}

// candidate is an elect process of a test.
type candidate struct {
	*testing.T
	command *exec.Cmd
	out     *output
	logs    *output
	ended   chan struct{}
}

// output is the output of a process, which can be read while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startCandidate starts an elect process, whose arguments are flags, "--" and a command. It ends with the test.
func startCandidate(t *testing.T, a *api, args ...string) *candidate {
	t.Helper()
	return startCandidateOn(t, nil, a, args...)
}

// startCandidateOn starts it in the foreground of a terminal, where there is one.
func startCandidateOn(t *testing.T, terminal *os.File, a *api, args ...string) *candidate {
	t.Helper()
	c := &candidate{T: t, out: &output{}, logs: &output{}, ended: make(chan struct{})}
	c.command = exec.Command(os.Args[0], append([]string{"elect", "-server=" + a.URL}, args...)...)
	c.command.Stdin, c.command.Stdout, c.command.Stderr = strings.NewReader("input\n"), c.out, c.logs
	if terminal != nil {
		c.command.Stdin = terminal
		c.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	// Whatever of it outlives it and holds its output is a fault that other checks tell better.
	c.command.WaitDelay = 2 * time.Second
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.command.Wait()
	}()
	t.Cleanup(func() {
		c.send(syscall.SIGKILL)
		<-c.ended
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", c.out, c.logs)
		}
	})
	return c
}

func (c *candidate) send(s syscall.Signal) { _ = c.command.Process.Signal(s) }

// exits waits for the end and wants an exit code.
func (c *candidate) exits(want int) {
	c.Helper()
	select {
	case <-c.ended:
		if got := c.command.ProcessState.ExitCode(); got != want {
			c.Errorf("exit code %d, want %d", got, want)
		}
	case <-time.After(time.Minute):
		c.Fatal("it never ends")
	}
}

// waitFor waits for a line of the command that begins with a first, and returns its numbers.
func (c *candidate) waitFor(first string) (numbers []int) {
	c.Helper()
	until(c.T, fmt.Sprintf("the command says %q", first), func() bool {
		for line := range strings.Lines(c.out.String()) {
			fields := strings.Fields(line)
			if len(fields) == 0 || fields[0] != first || !strings.HasSuffix(line, "\n") {
				continue
			}
			numbers = nil
			for _, field := range fields[1:] {
				if n, err := strconv.Atoi(field); err == nil {
					numbers = append(numbers, n)
				}
			}
			return true
		}
		return false
	})
	return numbers
}

// waitGone waits for processes to be gone and returns when they were.
func waitGone(t *testing.T, pids ...int) time.Time {
	t.Helper()
	for _, pid := range pids {
		until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
	}
	return time.Now()
}

// gone counts a zombie as dead: where its parent was killed it is init that reaps it.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// until waits for a condition. The bound is for a broken build only.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	over := time.After(time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("never: %s", what)
		}
	}
}
