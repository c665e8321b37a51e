// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/test/bench/handover"
)

const (
	// moves of namespaces: each moves once, to the next shard.
	moves = handover.FleetNamespaces
	// moveEvery is the time between two of them.
	moveEvery = 2 * time.Second
	// downFor is how long a shard that was killed is away.
	downFor = 2 * time.Second
	// lastRestart is how long restarts are waited for after the load, and needlessRestart how long those that must not come.
	lastRestart, needlessRestart = 2 * time.Minute, 10 * time.Second
)

// kills are the moves before which the leader is killed whose namespace moves: one of each shard.
var kills = []int{8, 15, 22}

// load moves all namespaces under load, kills the leader of each shard, and counts what was lost or done twice.
func (r *run) load(ctx context.Context) error {
	var sent requests
	all := make([]changes, workloads)
	var moved, released []time.Duration
	loading, loaded := errgroup.WithContext(ctx)
	loaded, end := context.WithCancel(loaded)
	loading.Go(func() error { return r.send(loaded, &sent) })
	loading.Go(func() error { return r.change(loaded, all) })
	loading.Go(func() (err error) {
		defer end()
		moved, released, err = r.move(loaded)
		return err
	})
	err := loading.Wait()
	r.result.add("moves", "namespaces", float64(len(moved)+len(released)), 0, fmt.Sprintf(">= %d", moves))
	r.result.add("move-p50", "s", quantile(moved, 50).Seconds(), 0, "")
	r.result.add("move-max", "s", quantile(moved, 100).Seconds(), 0, "")
	r.result.add("move-from-killed-max", "s", quantile(released, 100).Seconds(), 0, "")
	r.result.add("kills", "processes", float64(len(released)), 0, "3")
	r.result.add("requests", "requests", float64(sent.sent), 0, "")
	r.result.add("requests-lost", "requests", float64(sent.lost), 0, "0")
	if sent.first != nil {
		r.say("the first request that was lost: %v", sent.first)
	}
	if err != nil {
		return err
	}
	if err := r.countRestarts(ctx, all); err != nil {
		return err
	}
	now, err := r.read(ctx)
	if err != nil {
		return err
	}
	r.result.add("slices-rewritten", "EndpointSlices", float64(changed(r.versions["EndpointSlice"], now["EndpointSlice"])), 0, "0")
	r.result.add("services-rewritten", "Services", float64(changed(r.versions["Service"], now["Service"])), 0, "0")
	r.result.add("statuses-rewritten", "ExternalServices", float64(changed(r.versions["ExternalService"], now["ExternalService"])), 0, "0")
	return nil
}

// countRestarts waits until all Deployments were restarted for the last changes, and a while longer, and counts. What is
// missing after that is shown.
func (r *run) countRestarts(ctx context.Context, all []changes) error {
	began := time.Now()
	err := r.within(ctx, "last restarts", 200*time.Millisecond, func() (bool, error) {
		for n := range all {
			if done, err := r.restarted(n, &all[n]); err != nil || !done {
				return time.Since(began) > lastRestart, err
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if err := pause(ctx, needlessRestart); err != nil {
		return err
	}
	var c counts
	for n := range all {
		d, err := r.view.deployment(n)
		if err != nil {
			return err
		}
		if restarts := restartsOf(d); restarts != all[n].n {
			r.say("%s/%s: %d restarts for %d changes", namespace(n), workload(n), restarts, all[n].n)
		}
		c.add(all[n].n, restartsOf(d))
	}
	r.result.add("secret-changes", "changes", float64(c.changes), 0, "")
	r.result.add("restarts-per-change-least", "restarts", c.least, 0, "1")
	r.result.add("restarts-per-change-most", "restarts", c.most, 0, "1")
	return nil
}

// move moves each namespace to the next shard, and returns how long it took until that had claimed it: from shards that
// ran, and from those that were killed.
func (r *run) move(ctx context.Context) (moved, released []time.Duration, err error) {
	for n := range moves {
		if err := pause(ctx, moveEvery); err != nil {
			return moved, released, err
		}
		from, to := names[n%len(names)], names[(n+1)%len(names)]
		kill := slices.Contains(kills, n)
		if kill {
			r.running[from].Kill()
			delete(r.running, from)
		}
		began := time.Now()
		label := fmt.Appendf(nil, `{"metadata": {"labels": {"fairlead.dev/shard": %q}}}`, to)
		if _, err := r.stage.Kube.CoreV1().Namespaces().Patch(ctx, namespace(n), types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
			return moved, released, err
		}
		if kill {
			if err := pause(ctx, downFor); err != nil {
				return moved, released, err
			}
			if _, err := r.start(ctx, from); err != nil {
				return moved, released, err
			}
		}
		err := r.within(ctx, fmt.Sprintf("move %s from shard %s to %s", namespace(n), from, to), 5*time.Millisecond,
			func() (bool, error) { return r.view.holder(namespace(n)) == to, nil })
		if err != nil {
			return moved, released, err
		}
		took := time.Since(began)
		if kill {
			released = append(released, took)
			r.say("shard %s was killed; %s moved to %s after %.2fs", from, namespace(n), to, took.Seconds())
		} else {
			moved = append(moved, took)
		}
	}
	return moved, released, pause(ctx, moveEvery)
}
