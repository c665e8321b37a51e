// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestTheProcessOfThePodIsKilledAndNoOther(t *testing.T) {
	start := func(pod string) *exec.Cmd {
		cmd := exec.Command("sleep", "600")
		cmd.Env = []string{"OTHER_POD_NAME=fairlead-manager-1", "POD_NAME=" + pod}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	leader, other := start("fairlead-manager-1"), start("fairlead-manager-10")
	if bytes, err := memory("/proc", "fairlead-manager-1"); err != nil || bytes < 100<<10 || bytes > 100<<20 {
		t.Errorf("sleep has %d bytes: %v", bytes, err)
	}
	if err := killContainer("/proc", "fairlead-manager-1"); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := leader.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the leader ended with %v", err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other one: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	if err := killContainer("/proc", "fairlead-manager-1"); err == nil || !strings.Contains(err.Error(), "no process of pod") {
		t.Errorf("once it is gone: %v", err)
	}
}
