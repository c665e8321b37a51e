// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/cluster"
)

const (
	// pace at which the board is looked at.
	pace = 50 * time.Millisecond
	// calm is how long nothing more may happen after all has. It is past the quiet period.
	calm = quiet + 3*time.Second
	// profiling is how long a profile of the processor takes.
	profiling = 20 * time.Second
)

// know starts the operator, makes the policies, and waits until every Secret has a baseline.
func (r *run) know(ctx context.Context) error {
	if err := r.lead(ctx); err != nil {
		return err
	}
	if err := r.stage.Reachable(ctx); err != nil {
		return err
	}
	r.board.begin()
	began := time.Now()
	if err := each(ctx, r.policies(), writers, r.govern); err != nil {
		return err
	}
	if err := r.until(ctx, pace, func() (bool, error) { return r.board.known(r.options.Workloads), nil }); err != nil {
		return err
	}
	r.result.Known = time.Since(began)
	if err := r.pause(ctx, calm); err != nil {
		return err
	}
	if c := r.board.counts(time.Now()); c.Written.Most > 0 {
		return fmt.Errorf("a workload was restarted %d times before anything had changed", c.Written.Most)
	}
	return nil
}

// storm changes every Secret, as fast as the API server takes it, and waits until all workloads have
// been restarted.
func (r *run) storm(ctx context.Context) error {
	s := sampler{of: r.leader}
	if err := s.look(ctx); err != nil {
		return err
	}
	r.result.Before = s.usage
	others, err := r.others()
	if err != nil {
		return err
	}
	from, err := Logged(r.stage.AuditLog())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	profiled := r.profile(ctx)
	r.board.begin()
	began := time.Now()
	changed := make(chan error, 1)
	go func() {
		err := each(ctx, r.options.Workloads, writers, func(ctx context.Context, i int) error { return r.change(ctx, i, perWorkload, 1) })
		r.result.Changed = time.Since(began)
		changed <- err
	}()
	var ended time.Time
	err = r.until(ctx, pace, func() (bool, error) {
		var done bool
		done, ended = r.board.drained(r.options.Workloads)
		return done, s.often(ctx)
	})
	if err != nil {
		stop()
	}
	if failed := <-changed; err == nil {
		err = failed
	}
	if failed := <-profiled; err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	if err := r.board.whole(); err != nil {
		return err
	}
	r.result.Drained = ended.Sub(began)
	r.result.Storm = r.board.counts(ended)
	if r.result.Others, err = r.spent(others); err != nil {
		return err
	}
	if err := r.pause(ctx, calm); err != nil {
		return err
	}
	// What happened in the meantime, if anything, counts.
	after := r.board.counts(time.Now())
	r.result.Storm.Written, r.result.Storm.Rollouts = after.Written, after.Rollouts
	if err := s.look(ctx); err != nil {
		return err
	}
	r.result.After, r.result.MemoryInStorm, r.result.Goroutines = s.usage, s.memory, s.goroutines
	if r.result.Endings, err = endings(ctx, r.leader); err != nil {
		return err
	}
	to, err := Logged(r.stage.AuditLog())
	if err != nil {
		return err
	}
	r.result.Calls, err = ReadCalls(r.stage.AuditLog(), from, to)
	return err
}

// others are the seconds of a processor that each component has used.
func (r *run) others() (map[string]float64, error) {
	used := map[string]float64{}
	for _, name := range []string{cluster.Etcd, cluster.APIServer, cluster.ControllerManager, cluster.Scheduler, cluster.Kwok} {
		u, err := process.UsageOf(r.stage.Component(name).PID())
		if err != nil {
			return nil, err
		}
		used[name] = u.CPU
	}
	return used, nil
}

func (r *run) spent(before map[string]float64) (map[string]float64, error) {
	now, err := r.others()
	for name := range now {
		now[name] -= before[name]
	}
	return now, err
}

// profile takes one of the operator and one of the API server, if wanted, from a moment after the beginning on.
func (r *run) profile(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	if r.options.Profiles == "" {
		close(done)
		return done
	}
	seconds := fmt.Sprintf("%.0f", profiling.Seconds())
	take := func(name string, read func() ([]byte, error)) error {
		got, err := read()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(r.options.Profiles, name), got, 0o600)
	}
	go func() {
		if err := os.MkdirAll(r.options.Profiles, 0o750); err != nil {
			done <- err
			return
		}
		var taking errgroup.Group
		taking.Go(func() error {
			return take("restarts-cpu.pprof", func() ([]byte, error) { return r.leader.Profile(ctx, "profile?seconds="+seconds) })
		})
		taking.Go(func() error {
			return take("restarts-apiserver-cpu.pprof", func() ([]byte, error) {
				return r.client.Discovery().RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", seconds).DoRaw(ctx)
			})
		})
		done <- taking.Wait()
	}()
	return done
}
