// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// candidate is an elect process of a test.
type candidate struct {
	*testing.T
	command *exec.Cmd
	out     *output
	logs    *output
	ended   chan struct{}
}

// output is what a process wrote, to be read while it runs.
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

// stand starts an elect process, whose arguments are flags, "--" and a command. It ends with the test.
func stand(t *testing.T, a *api, args ...string) *candidate {
	t.Helper()
	return standOn(t, nil, a, args...)
}

// standOn is stand in the foreground of a terminal, where there is one.
func standOn(t *testing.T, screen *os.File, a *api, args ...string) *candidate {
	t.Helper()
	c := &candidate{T: t, out: &output{}, logs: &output{}, ended: make(chan struct{})}
	c.command = exec.Command(os.Args[0], append([]string{"elect", "-server=" + a.URL}, args...)...)
	c.command.Stdin, c.command.Stdout, c.command.Stderr = strings.NewReader("input\n"), c.out, c.logs
	if screen != nil {
		c.command.Stdin = screen
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

// says waits for a line of the command that begins with a word, and returns its numbers.
func (c *candidate) says(word string) (numbers []int) {
	c.Helper()
	until(c.T, fmt.Sprintf("the command says %q", word), func() bool {
		for line := range strings.Lines(c.out.String()) {
			fields := strings.Fields(line)
			if len(fields) == 0 || fields[0] != word || !strings.HasSuffix(line, "\n") {
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

// dies waits for processes to be gone and returns when they were.
func dies(t *testing.T, pids ...int) time.Time {
	t.Helper()
	for _, pid := range pids {
		until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
	}
	return time.Now()
}

// gone counts a zombie as dead: where its parent was killed it is init who buries it.
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
