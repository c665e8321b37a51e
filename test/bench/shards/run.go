// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/handover"
	"github.com/fairlead-dev/fairlead/test/bench/subject"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// nodes that the pods are spread over.
	nodes = 3
	// patience bounds one wait. A leader writes the statuses of tens of thousands of new objects in less.
	patience = 10 * time.Minute
	// reconcileLog is the variable of the environment that names the operator's log of reconciles.
	reconcileLog = "FAIRLEAD_RECONCILE_LOG"
)

// run is one measurement.
type run struct {
	options Options
	result  Result

	fleet *externalnet.Fleet
	stage *framework.Cluster
	view  *view
	// running are the leaders by the names of their shards; that of one leader of all is "".
	running map[string]*leader
	one     usage
	// empty is the memory of a leader that has no objects, in bytes.
	empty float64
	// versions of what there was before the next step, by kind.
	versions map[string]versions
}

// open starts the server outside and the control plane, with a replica that only serves webhooks, as config/split has it.
func (r *run) open(ctx context.Context) (err error) {
	if r.fleet, err = externalnet.OpenFleet(externalnet.FleetOptions{}); err != nil {
		return err
	}
	r.stage, err = framework.Open(ctx, framework.Options{
		Root: r.options.Root, Operator: framework.Outside, Output: r.options.Output, Cluster: cluster.Options{Nodes: nodes},
	})
	if err != nil {
		return err
	}
	rights := filepath.Join(r.options.Root, "config", "shards")
	if err := r.stage.KubectlIO(ctx, nil, io.Discard, r.options.Output, "apply", "--server-side",
		"-f", filepath.Join(rights, "role.yaml"), "-f", filepath.Join(rights, "role_binding.yaml")); err != nil {
		return err
	}
	if _, err := r.stage.StartReplica(ctx, "--set=controllers.enabled=false"); err != nil {
		return err
	}
	return r.stage.Reachable(ctx)
}

// close ends what runs, the operator before what it connects to.
func (r *run) close() error {
	var errs []error
	if r.view != nil {
		r.view.close()
	}
	if r.stage != nil {
		errs = append(errs, r.stage.Close())
	}
	if r.fleet != nil {
		errs = append(errs, r.fleet.Close())
	}
	return errors.Join(errs...)
}

// leader is a process that reconciles.
type leader struct {
	*framework.Replica
	usage
	shard string
	began time.Time
	log   handover.ReconcileLog
}

// start starts the leader of a shard, as config/shards does, or the one of all namespaces. It waits for nothing.
func (r *run) start(ctx context.Context, shard string) (*leader, error) {
	args := []string{"--set=webhook.enabled=false"}
	if shard != "" {
		args = append(args, "--set=shard.name="+shard, "--set=shard.namespaceSelector=fairlead.dev/shard="+shard,
			"--set=leaderElection.resourceName=fairlead-shard-"+shard)
	}
	l := &leader{shard: shard, began: time.Now()}
	// The process inherits it. Each has a file of its own, or the later one would read what the others have written.
	l.log.Path = filepath.Join(r.stage.Folder(), "reconciles-"+r.stage.NextReplica())
	if err := os.Setenv(reconcileLog, l.log.Path); err != nil {
		return nil, err
	}
	defer func() { _ = os.Unsetenv(reconcileLog) }()
	var err error
	if l.Replica, err = r.stage.Launch(ctx, args...); err != nil {
		return nil, err
	}
	r.running[shard] = l
	return l, nil
}

// within waits until done returns true, for as long as patience says, while all leaders run.
func (r *run) within(ctx context.Context, what string, every time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	err := (*subject.Subject)(nil).Until(ctx, every, func() (bool, error) {
		for shard, l := range r.running {
			if l.PID() == 0 {
				return false, fmt.Errorf("the leader of shard %q has ended; its last words are above", shard)
			}
		}
		return done()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// stop ends a leader in order.
func (r *run) stop(l *leader) {
	delete(r.running, l.shard)
	l.Stop()
}

// pause lets time pass.
func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(long):
		return nil
	}
}
