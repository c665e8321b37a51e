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
)

const (
	// calm is how long nothing may have been written before the operator counts as at rest.
	calm = 12 * time.Second
	// restless is how long that may take. After that it is measured as it is: it shows.
	restless = 5 * time.Minute
	// sampling is how often memory and goroutines are read at rest.
	sampling = 5 * time.Second
	// profiling is how long a profile of the processor takes.
	profiling = 20 * time.Second
)

// publish starts a leader that finds all objects new, and waits until every address is published
// and ready.
func (r *run) publish(ctx context.Context) error {
	var err error
	if r.board, err = watch(ctx, r.client); err != nil {
		return err
	}
	began := time.Now()
	if err := r.lead(ctx); err != nil {
		return err
	}
	all := r.Objects * perObject
	err = r.until(ctx, 100*time.Millisecond, func() (bool, error) { return !r.board.serves(all).IsZero(), nil })
	if err != nil {
		return fmt.Errorf("%w (%s)", err, r.board)
	}
	r.result.FirstPublish = r.board.lists(all).Sub(began)
	r.result.FirstReady = r.board.serves(all).Sub(began)
	return nil
}

// settle waits until the operator has written all that there is to write about the start.
func (r *run) settle(ctx context.Context) error {
	var last writes
	quiet, began := time.Now(), time.Now()
	return r.until(ctx, time.Second, func() (bool, error) {
		now, err := r.written(ctx)
		if err != nil {
			return false, err
		}
		f, err := r.leader.figures(ctx)
		if err != nil {
			return false, err
		}
		if added := now.since(last); len(added) > 0 || f.queue > 0 {
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
	first, err := r.leader.figures(ctx)
	if err != nil {
		return err
	}
	began, last := time.Now(), first
	var took time.Duration
	err = r.until(ctx, sampling, func() (bool, error) {
		if last, err = r.leader.figures(ctx); err != nil {
			return false, err
		}
		took = time.Since(began)
		r.result.Memory = max(r.result.Memory, last.memory)
		r.result.Goroutines = max(r.result.Goroutines, last.goroutines)
		return took >= r.Steady, nil
	})
	if err != nil {
		return err
	}
	after, err := r.written(ctx)
	if err != nil {
		return err
	}
	r.result.Window = took
	r.result.Load = load()
	r.result.Cores = perSecond(last.cpu-first.cpu, took)
	r.result.Probes = perSecond(last.probes-first.probes, took)
	r.result.Late = percent(last.late-first.late, last.probes-first.probes)
	r.result.Written = after.since(before)
	r.result.MemoryPeak, err = peak(r.leader.PID())
	return err
}

// profile is taken after everything else was measured at rest: it costs time itself.
func (r *run) profile(ctx context.Context) error {
	if r.Profiles == "" {
		return nil
	}
	if err := os.MkdirAll(r.Profiles, 0o750); err != nil {
		return err
	}
	for name, path := range map[string]string{
		"cpu.pprof": fmt.Sprintf("/profile?seconds=%.0f", profiling.Seconds()), "heap.pprof": "/heap?gc=1",
	} {
		got, err := read(ctx, r.leader.profiles+path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.Profiles, name), got, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// perSecond and percent answer 0 where there is nothing to divide by.
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
