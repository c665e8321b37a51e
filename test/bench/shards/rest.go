// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/probes"
	"github.com/fairlead-dev/fairlead/test/bench/process"
)

const (
	// rest is how long leaders are measured in which nothing changes.
	rest = time.Minute
	// calm is how long a leader has reconciled nothing when it counts as at rest.
	calm = 5 * time.Second
	// restless is how long that may take of leaders that find everything published. After that they are measured as they
	// are.
	restless = 2 * time.Minute
)

// names of the shards, in the order in which namespaces get their labels.
var names = []string{"a", "b", "c"}

// usage of a leader in a minute in which nothing changes.
type usage struct {
	first        time.Duration // from its start to its first reconcile
	cores        float64
	memory, peak float64 // bytes, resident at the end, and at most since its start
}

// single measures one leader of all namespaces.
func (r *run) single(ctx context.Context) error {
	all, err := r.atRest(ctx, "")
	if err != nil {
		return err
	}
	r.one = all[0].usage
	if r.versions, err = r.read(ctx); err != nil {
		return err
	}
	r.stop(all[0])
	return nil
}

// three measures three shards that start at once, and counts what they wrote to take over.
func (r *run) three(ctx context.Context) error {
	all, err := r.atRest(ctx, names...)
	if err != nil {
		return err
	}
	before := r.versions
	if r.versions, err = r.read(ctx); err != nil {
		return err
	}
	written := 0
	for _, kind := range kinds {
		written += changed(before[kind.Kind], r.versions[kind.Kind])
	}
	most := func(of func(usage) float64) (n float64) {
		for _, l := range all {
			n = max(n, of(l.usage))
		}
		return n
	}
	r.result.add("start-first-reconcile", "s", most(func(u usage) float64 { return u.first.Seconds() }), r.one.first.Seconds(), "")
	r.result.add("cpu-cores", "cores", most(func(u usage) float64 { return u.cores }), r.one.cores, "<= 0.45 of one leader")
	r.result.add("memory-settled", "MiB", most(func(u usage) float64 { return u.memory / mebi }), r.one.memory/mebi, "about 0.33 of one leader")
	r.result.add("memory-peak", "MiB", most(func(u usage) float64 { return u.peak / mebi }), r.one.peak/mebi, "about 0.33 of one leader")
	r.result.add("memory-of-objects", "MiB", most(func(u usage) float64 { return u.memory - r.empty })/mebi, (r.one.memory-r.empty)/mebi, "<= 0.45 of one leader")
	r.result.add("take-over-writes", "objects", float64(written), 0, "0")
	return nil
}

// atRest starts leaders at once, and measures each in a minute after it has reconciled everything and all addresses were
// checked again.
func (r *run) atRest(ctx context.Context, shards ...string) ([]*leader, error) {
	before := map[netip.Addr]int{}
	for n := range r.options.Checked {
		for _, address := range probes.Own(n) {
			before[address] = r.fleet.Count(address)
		}
	}
	var all []*leader
	for _, shard := range shards {
		l, err := r.start(ctx, shard)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	for _, l := range all {
		var err error
		if l.first, err = l.firstReconcile(ctx); err != nil {
			return nil, err
		}
	}
	err := r.within(ctx, "check every address", 200*time.Millisecond, func() (bool, error) {
		for address, n := range before {
			if r.fleet.Count(address) == n {
				return false, nil
			}
			delete(before, address)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if err := r.settle(ctx, l, restless); err != nil {
			return nil, err
		}
	}
	for _, l := range all {
		used, err := process.UsageOf(l.PID())
		if err != nil {
			return nil, err
		}
		l.cores = -used.CPU
	}
	if err := pause(ctx, rest); err != nil {
		return nil, err
	}
	for _, l := range all {
		now, err := process.UsageOf(l.PID())
		if err != nil {
			return nil, err
		}
		l.cores, l.memory, l.peak = (l.cores+now.CPU)/rest.Seconds(), now.Memory, now.Peak
		r.say("leader of shard %q: first reconcile after %.2fs, %.4f cores at rest, %.1f MiB, at most %.1f MiB; %.1fs of a processor in all",
			l.shard, l.first.Seconds(), l.cores, now.Memory/mebi, now.Peak/mebi, now.CPU)
	}
	return all, nil
}

// firstReconcile waits for it, and returns how long after the start it was.
func (l *leader) firstReconcile(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	first, err := l.log.First(ctx, "begin", l.began, func(string) bool { return true })
	if err != nil {
		return 0, fmt.Errorf("%s: %w", l.ID, err)
	}
	return first.At.Sub(l.began), nil
}

// settle waits until a leader has reconciled nothing for a while, or has not come to that within a limit.
func (r *run) settle(ctx context.Context, l *leader, limit time.Duration) error {
	began := time.Now()
	err := r.within(ctx, "come to rest", 200*time.Millisecond, func() (bool, error) {
		log, err := os.Stat(l.log.Path)
		if err != nil {
			return false, err
		}
		return time.Since(log.ModTime()) > calm || time.Since(began) > limit, nil
	})
	r.say("%s: at rest after %.1fs", l.ID, time.Since(l.began).Seconds())
	return err
}
