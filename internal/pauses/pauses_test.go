// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package pauses

import (
	"context"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"
)

func TestATimeInWhichTheProcessIsStoppedIsMeasured(t *testing.T) {
	m := &Meter{Every: 10 * time.Millisecond, Least: 100 * time.Millisecond}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { m.Run(ctx); close(ended) }()
	for running := false; !running; { // Run has looked at the clock once
		m.mu.Lock()
		running = !m.last.IsZero()
		m.mu.Unlock()
	}
	stopped := time.Now()
	if said, err := exec.Command("sh", "-c", "kill -STOP $PPID; sleep 1; kill -CONT $PPID").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	lost, took := m.Lost(), time.Since(stopped)
	if lost < 900*time.Millisecond || lost > took {
		t.Errorf("measured %s, of the %s that a stop of a second took", lost, took)
	}
	end()
	<-ended
	if again := m.Lost(); again < lost {
		t.Errorf("%s, after it was %s", again, lost)
	}
}

func TestNoTimePassesUnmeasuredWhereTheProcessRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Meter{Every: time.Second, Least: time.Second}
		if <-time.After(time.Hour); m.Lost() != 0 {
			t.Errorf("%s before Run", m.Lost())
		}
		ctx, end := context.WithCancel(t.Context())
		go m.Run(ctx)
		if <-time.After(time.Hour); m.Lost() != 0 {
			t.Errorf("%s while nothing stopped", m.Lost())
		}
		end()
		if <-time.After(time.Hour); m.Lost() != 0 {
			t.Errorf("%s after Run", m.Lost())
		}
	})
}
