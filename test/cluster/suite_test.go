// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
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

// roleVariable makes the test binary play the process that owns a cluster, and is killed.
const roleVariable = "FAIRLEAD_CLUSTER_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "owner" {
		os.Exit(ownUntilKilled())
	}
	os.Exit(m.Run())
}

// ownUntilKilled starts a cluster, prints what must be gone later, and waits for its murderer.
func ownUntilKilled() int {
	c, err := Start(context.Background(), Options{Nodes: 1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("folder", c.Folder())
	for _, pid := range pidsOf(c) {
		fmt.Println("pid", pid)
	}
	fmt.Println("ready")
	<-c.Done()
	return 0
}

// pidsOf lists the processes of a cluster, the supervisor among them.
func pidsOf(c *Cluster) []int {
	pids := []int{c.supervisor.cmd.Process.Pid}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.components {
		pids = append(pids, k.PID())
	}
	return pids
}

// start runs a cluster for one test.
func start(t *testing.T, options Options) *Cluster {
	t.Helper()
	options.Output = &testLog{t: t}
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// testLog writes lines to the log of a test for as long as the test runs.
type testLog struct {
	t     *testing.T
	mu    sync.Mutex
	ended bool
	once  sync.Once
}

func (l *testLog) Write(p []byte) (int, error) {
	l.once.Do(func() { l.t.Cleanup(func() { l.mu.Lock(); l.ended = true; l.mu.Unlock() }) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.t.Log(strings.TrimSuffix(string(p), "\n"))
	}
	return len(p), nil
}

// patience is how long a condition may take. The machine may be a busy one.
const patience = 3 * time.Minute

// eventually polls a condition, and fails the test with what it last said.
func eventually(t *testing.T, within time.Duration, condition func() error) {
	t.Helper()
	eventuallyEvery(t, 20*time.Millisecond, within, condition)
}

// eventuallyEvery is eventually for a condition that is not for free.
func eventuallyEvery(t *testing.T, pause, within time.Duration, condition func() error) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("after %v: %v", within, err)
		case <-tick.C:
		}
	}
}

// alive tells a running process from one that is gone, or gone but for a parent that reaps it: the
// first process of a container often never does.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || !bytes.HasPrefix(bytes.TrimSpace(state), []byte("Z"))
}

// nothingLeft is nil once neither the folder nor any of the processes exists.
func nothingLeft(folder string, pids []int) error {
	if _, err := os.Lstat(folder); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("folder %s is still there (%v)", folder, err)
	}
	for _, pid := range pids {
		if pid == 0 || alive(pid) {
			return fmt.Errorf("process %d is still there", pid)
		}
	}
	return nil
}
