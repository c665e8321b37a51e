// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pausetest lets tests of timeouts pass on a machine that does not run their process for seconds.
package pausetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/pauses"
)

const (
	interval    = 10 * time.Millisecond
	maxAttempts = 5
	minPause    = 500 * time.Millisecond // in one attempt
)

// Retry calls attempt, and fails the test with its error. An attempt that fails while this process does not
// run for half a second in total is repeated, up to five attempts.
func Retry(t testing.TB, attempt func() error) {
	t.Helper()
	lost, end := measure()
	defer end()
	if err := retry(t.Logf, lost, attempt); err != nil {
		t.Fatal(err)
	}
}

func retry(logf func(string, ...any), lost func() time.Duration, attempt func() error) error {
	for n := 1; ; n++ {
		before := lost()
		err := attempt()
		paused := lost() - before
		switch {
		case err == nil:
			return nil
		case n == maxAttempts || paused < minPause:
			return fmt.Errorf("attempt %d, in which the process did not run for %s: %w", n, paused.Round(time.Millisecond), err)
		}
		logf("attempt %d, in which the process did not run for %s: %v", n, paused.Round(time.Millisecond), err)
	}
}

// measure returns for how long this process has not run since. Call end.
func measure() (lost func() time.Duration, end func()) {
	meter := &pauses.Meter{Every: interval, Least: interval}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		meter.Run(ctx)
	}()
	return meter.Lost, func() { cancel(); <-ended }
}
