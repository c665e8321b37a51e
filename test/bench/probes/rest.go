// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/process"
)

const (
	// calm is how long there must be no write until the operator counts as at rest.
	calm = 12 * time.Second
	// restless bounds the wait for rest. After that, the operator is measured although it still writes, which the figures
	// show.
	restless = 5 * time.Minute
	// sampling is how often memory and goroutines are read at rest.
	sampling = 5 * time.Second
	// scraping is how often all metrics are read at rest.
	scraping = 30 * time.Second
	// profiling is how long a profile of the processor takes.
	profiling = 20 * time.Second
)

// publish starts a leader that finds all objects new, and waits until every address is published
// and ready.
func (r *run) publish(ctx context.Context) error {
	board, err := watch(ctx, r.client)
	if err != nil {
		return err
	}
	r.board = board
	before, err := r.written(ctx)
	if err != nil {
		return err
	}
	used, err := r.apiServer()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.lead(ctx); err != nil {
		return err
	}
	all := r.options.Objects * PerObject
	err = r.until(ctx, 100*time.Millisecond, func() (bool, error) { return !r.board.serves(all).IsZero(), nil })
	if err != nil {
		return fmt.Errorf("%w (%s)", err, r.board)
	}
	r.result.FirstPublish = r.board.lists(all).Sub(began)
	r.result.FirstReady = r.board.serves(all).Sub(began)
	after, err := r.written(ctx)
	if err != nil {
		return err
	}
	now, err := r.apiServer()
	if err != nil {
		return err
	}
	r.result.FirstWritten, r.result.FirstProcessor = after.since(before), now-used
	r.say("all addresses were published after %.1fs, and ready after %.1fs; the API server used %.1fs of a processor",
		r.result.FirstPublish.Seconds(), r.result.FirstReady.Seconds(), r.result.FirstProcessor)
	return nil
}

// settle waits until the operator writes no more.
func (r *run) settle(ctx context.Context) error {
	var last writes
	quiet, began := time.Now(), time.Now()
	return r.until(ctx, 3*time.Second, func() (bool, error) {
		now, err := r.written(ctx)
		if err != nil {
			return false, err
		}
		if len(now.since(last)) > 0 {
			quiet = time.Now()
		}
		last = now
		return time.Since(quiet) > calm || time.Since(began) > restless, nil
	})
}

// rest watches the operator while nothing changes.
func (r *run) rest(ctx context.Context) error {
	before, err := r.written(ctx)
	if err != nil {
		return err
	}
	first, err := scrape(ctx, r.leader)
	if err != nil {
		return err
	}
	used, err := process.UsageOf(r.leader.PID())
	if err != nil {
		return err
	}
	began, scraped := time.Now(), time.Now()
	last, now := first, used
	err = r.until(ctx, sampling, func() (bool, error) {
		r.result.Window = time.Since(began)
		done := r.result.Window >= r.options.Steady
		if done || time.Since(scraped) >= scraping {
			scraped = time.Now()
			if last, err = scrape(ctx, r.leader); err != nil {
				return false, err
			}
		}
		goroutines, err := goroutines(ctx, r.leader)
		if err != nil {
			return false, err
		}
		if now, err = process.UsageOf(r.leader.PID()); err != nil {
			return false, err
		}
		r.result.Window = time.Since(began)
		r.result.Memory = max(r.result.Memory, now.Memory)
		r.result.Goroutines = max(r.result.Goroutines, goroutines)
		return done, nil
	})
	if err != nil {
		return err
	}
	after, err := r.written(ctx)
	if err != nil {
		return err
	}
	r.result.Load = process.Load()
	r.result.Cores = perSecond(now.CPU-used.CPU, r.result.Window)
	r.result.Checks = perSecond(last.checks-first.checks, r.result.Window)
	r.result.Late = percent(last.late-first.late, last.checks-first.checks)
	r.result.Written = after.since(before)
	r.result.MemoryPeak = now.Peak
	r.say("%.3f cores for %.0f checks a second, %.3f%% of them late; %.0f MiB, at most %.0f; written: %s",
		r.result.Cores, r.result.Checks, r.result.Late, now.Memory/mebi, now.Peak/mebi, r.result.Written)
	return nil
}

// profile takes a CPU profile. It comes last, since it takes CPU time itself.
func (r *run) profile(ctx context.Context) error {
	if r.options.Profiles == "" {
		return nil
	}
	if err := os.MkdirAll(r.options.Profiles, 0o750); err != nil {
		return err
	}
	for name, path := range map[string]string{
		"cpu.pprof": fmt.Sprintf("profile?seconds=%.0f", profiling.Seconds()), "heap.pprof": "heap?gc=1",
	} {
		got, err := r.leader.Profile(ctx, path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.options.Profiles, name), got, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// perSecond and percent return 0 if the divisor is 0.
func perSecond(n float64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return n / in.Seconds()
}

func percent(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Max(part, 0) / whole * 100
}
