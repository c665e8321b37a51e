// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/bench/restarts"
	"github.com/fairlead-dev/fairlead/test/bench/subject"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/reloader"
)

const (
	// nodes that the pods are spread over.
	nodes = 4
	// look is the time between two looks at the record.
	look = 200 * time.Millisecond
	// settling is how long the workloads run before the first change, and calm how long nothing may happen after the last restart.
	settling, calm = 3 * time.Second, 5 * time.Second
)

// Options of Run.
type Options struct {
	// Inputs are complete.
	reloader.Inputs
	// Scenarios to run. The default is all.
	Scenarios []string
	// Runs is how often each is measured on each side. The default is 3.
	Runs int
	// Duration is how long a scenario makes changes. The default is 15s.
	Duration time.Duration
	// Limit is how long the workloads may take until they run, and how long after the last change until they are restarted. The default
	// is 3m.
	Limit time.Duration
	// Seed is that of the changes. The default is 1.
	Seed uint64
	// Profiles is a folder for profiles of the operator while it is measured, which cost it time. The default is none.
	Profiles string
}

// Measurement is one of a scenario on one side.
type Measurement struct {
	Scenario string `json:"scenario"`
	Side     string `json:"side"`
	Run      int    `json:"run"`
	// Workloads at the end, Changes of content, and Restarts, which are new pod templates.
	Workloads int `json:"workloads"`
	Changes   int `json:"changes"`
	Restarts  int `json:"restarts"`
	// LastSeconds is from the last change to the last restart, or 0 where that came first.
	LastSeconds float64 `json:"lastSeconds"`
	// CPUSeconds are those of a processor from the first change until nothing happens any more, and CPUSecondsBefore those until then.
	CPUSeconds       float64 `json:"cpuSeconds"`
	CPUSecondsBefore float64 `json:"cpuSecondsBefore"`
	// Memory is resident, in bytes, at its peak and at the end.
	MemoryPeak float64 `json:"memoryPeakBytes"`
	MemoryEnd  float64 `json:"memoryEndBytes"`
	// Writes are the calls that store something, or ask whether something may be done, without those of the Lease. Reads are all others.
	Writes int            `json:"writes"`
	Reads  int            `json:"reads"`
	Calls  restarts.Calls `json:"calls"`
	// Stale are the workloads that have a pod which is older than the last content of a source, or none. Uncaused are restarts that are
	// more than the changes of the workload's sources.
	Stale    int `json:"stale"`
	Uncaused int `json:"uncaused"`
}

// run is one run of all.
type run struct {
	Options
	reloader string
}

// Run measures.
func Run(ctx context.Context, o Options) (measured []Measurement, err error) {
	o.Runs, o.Duration = cmp.Or(o.Runs, 3), cmp.Or(o.Duration, 15*time.Second)
	o.Limit, o.Seed = cmp.Or(o.Limit, 3*time.Minute), cmp.Or(o.Seed, 1)
	if len(o.Scenarios) == 0 {
		o.Scenarios = Scenarios()
	}
	for _, name := range o.Scenarios {
		if !slices.Contains(Scenarios(), name) {
			return nil, fmt.Errorf("scenario %q: must be one of %s", name, strings.Join(Scenarios(), ", "))
		}
	}
	r := &run{Options: o}
	if err := r.build(ctx); err != nil {
		return nil, err
	}
	for n := range o.Runs {
		for _, name := range o.Scenarios {
			for _, side := range []string{Reloader, Fairlead} {
				m, err := r.measure(ctx, name, side)
				if err != nil {
					return measured, fmt.Errorf("%s, %s: %w", name, side, err)
				}
				m.Run = n + 1
				r.say("%d %s %s: %d restarts, last after %.1fs, %.2fs of a processor, %.0f MiB, %d writes, load average %s", m.Run, name, side,
					m.Restarts, m.LastSeconds, m.CPUSeconds, m.MemoryPeak/mebi, m.Writes, process.Load())
				measured = append(measured, m)
			}
		}
	}
	return measured, nil
}

// measure measures one side in one scenario, on a control plane of its own.
func (r *run) measure(ctx context.Context, name, side string) (m Measurement, err error) {
	of := scenarios()[slices.Index(Scenarios(), name)]
	m = Measurement{Scenario: name, Side: side}
	on, err := reloader.Open(ctx, r.Root, nil, cluster.Options{
		Nodes: nodes, AuditPolicy: filepath.Join(r.Root, "test", "bench", "restarts", "testdata", "audit-policy.yaml"),
	})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	watching, cancel := context.WithCancel(ctx)
	record, err := watch(watching, on.Kube)
	defer record.close()
	defer cancel()
	if err != nil {
		return m, err
	}
	ran, err := r.start(ctx, side, on)
	if err != nil {
		return m, err
	}
	defer ran.Stop()
	d := &driver{scenario: of, stage: on, record: record, seed: r.Seed}
	if err := d.make(ctx); err != nil {
		return m, err
	}
	if _, err := r.until(ctx, d, ran, func(o outcome) bool { return o.workloads == len(of.workloads) && o.unsettled == 0 }); err != nil {
		return m, err
	}
	if err := pause(ctx, settling); err != nil {
		return m, err
	}
	err = r.spend(ctx, &m, d, ran)
	return m, err
}

// spend makes the changes, and measures what the program takes for them.
func (r *run) spend(ctx context.Context, m *Measurement, d *driver, ran program) error {
	before, err := process.UsageOf(ran.PID())
	if err != nil {
		return err
	}
	from, err := restarts.Logged(d.stage.AuditLog())
	if err != nil {
		return err
	}
	profiled := r.profile(ctx, d, ran)
	if err := d.play(ctx, r.Duration); err != nil {
		return err
	}
	played := time.Now()
	o, err := r.until(ctx, d, ran, func(o outcome) bool {
		return time.Since(later(played, o.lastRestart)) > calm && (o.stale == 0 && o.unsettled == 0 || time.Since(played) > r.Limit)
	})
	if err != nil {
		return err
	}
	after, err := process.UsageOf(ran.PID())
	if err != nil {
		return err
	}
	to, err := restarts.Logged(d.stage.AuditLog())
	if err != nil {
		return err
	}
	if m.Calls, err = restarts.ReadCalls(d.stage.AuditLog(), from, to); err != nil {
		return err
	}
	events, reads, writes := m.Calls.Split()
	m.Writes, m.Reads = events+writes, reads
	m.Workloads, m.Changes, m.Restarts, m.Stale, m.Uncaused = o.workloads, o.changes, o.restarts, o.stale, o.uncaused
	if o.changes > 0 && o.restarts > 0 {
		m.LastSeconds = max(o.lastRestart.Sub(o.lastChange).Seconds(), 0)
	}
	m.CPUSeconds, m.CPUSecondsBefore = after.CPU-before.CPU, before.CPU
	m.MemoryPeak, m.MemoryEnd = after.Peak, after.Memory
	return <-profiled
}

// until looks at the record until something holds.
func (r *run) until(ctx context.Context, d *driver, ran program, holds func(outcome) bool) (o outcome, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Limit+2*calm, fmt.Errorf("not done after %v", r.Limit))
	defer cancel()
	for {
		if o, err = d.record.outcome(); err != nil || holds(o) {
			return o, err
		}
		if ran.PID() == 0 {
			return o, errors.New("the program has ended")
		}
		if err := pause(ctx, look); err != nil {
			return o, fmt.Errorf("%w: %+v", err, o)
		}
	}
}

func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(long):
		return nil
	}
}

// profile takes profiles of the operator, if wanted: of the processor while changes are made, and then of memory.
func (r *run) profile(ctx context.Context, d *driver, ran program) <-chan error {
	done := make(chan error, 1)
	of, is := ran.(*subject.Subject)
	if r.Profiles == "" || !is {
		close(done)
		return done
	}
	go func() {
		done <- func() error {
			if err := os.MkdirAll(r.Profiles, 0o750); err != nil {
				return err
			}
			for _, name := range []string{fmt.Sprintf("profile?seconds=%.0f", r.Duration.Seconds()), "heap", "allocs"} {
				profile, err := of.Profile(ctx, name)
				if err != nil {
					return err
				}
				file, _, _ := strings.Cut(name, "?")
				if err := os.WriteFile(filepath.Join(r.Profiles, d.Name+"-"+file+".pprof"), profile, 0o600); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	return done
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Output, format+"\n", args...) // progress is worth no failure
}
