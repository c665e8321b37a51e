// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// patience bounds one wait: a Lease runs out after 15 s, and stock takes a little longer.
const patience = time.Minute

// objects are reconciled by the replica that begins to lead.
const objects = 5

// Options of Run.
type Options struct {
	// Root is the checkout whose operator and manifests are measured.
	Root string
	// Runs is how often each thing is measured on each side; 0 leaves that out.
	Runs int
	// Objects is how many suspended ExternalServices there are when starts, a handover and memory are measured
	// once more; 0 leaves that out.
	Objects int
	// Secrets, of 20 KB, and ConfigMaps are how many there are when memory is measured beside that without them; 0
	// Secrets leave that out.
	Secrets, ConfigMaps int
	// Limit is how long all of it may take. The default is 45m; three runs take some four minutes, and 50,000
	// objects fifteen.
	Limit time.Duration
	// Output takes progress. The default is none.
	Output io.Writer
}

// run is one measurement.
type run struct {
	options Options
	stage   *framework.Cluster
	log     ReconcileLog
	// patience bounds one step.
	patience time.Duration
}

// Run measures. It starts a control plane and leaves nothing of it.
func Run(ctx context.Context, o Options) (result Result, err error) {
	o.Limit = cmp.Or(o.Limit, 45*time.Minute)
	if o.Output == nil {
		o.Output = io.Discard
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return result, err
	}
	o.Root = root
	ctx, cancel := context.WithTimeoutCause(ctx, o.Limit, fmt.Errorf("not done after %s", o.Limit))
	defer cancel()
	r := &run{options: o, patience: patience}
	if o.Runs > 0 || o.Objects > 0 {
		err = r.onCluster(ctx, func(ctx context.Context) error {
			if o.Runs > 0 {
				if result, err = r.measure(ctx); err != nil {
					return err
				}
			}
			if o.Objects == 0 {
				return nil
			}
			rows, err := r.fleet(ctx)
			result.rows = append(result.rows, rows...)
			return err
		})
	}
	if err == nil && o.Secrets > 0 { // on its own cluster: the API server has ten times the memory of the objects
		err = r.onCluster(ctx, func(ctx context.Context) error {
			rows, err := r.sources(ctx)
			result.rows = append(result.rows, rows...)
			return err
		})
	}
	return result, err
}

// onCluster measures on a control plane with a few objects, and leaves nothing behind.
func (r *run) onCluster(ctx context.Context, measure func(context.Context) error) (err error) {
	if r.stage, err = framework.Open(ctx, framework.Options{Root: r.options.Root, Output: r.options.Output, Operator: framework.Outside}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stage.Close()) }()
	r.log = ReconcileLog{filepath.Join(r.stage.Folder(), "reconciles")}
	if err := os.Setenv("FAIRLEAD_RECONCILE_LOG", r.log.Path); err != nil { // processes inherit it
		return err
	}
	defer func() { _ = os.Unsetenv("FAIRLEAD_RECONCILE_LOG") }()
	if err := r.populate(ctx); err != nil {
		return err
	}
	return measure(ctx)
}

// populate makes what is reconciled, and everything that only a first start makes.
func (r *run) populate(ctx context.Context) (err error) {
	replica, err := r.stage.StartReplica(ctx)
	if err != nil {
		return err
	}
	defer r.stage.Retire(replica)
	if err := r.stage.Reachable(ctx); err != nil {
		return err
	}
	var manifests strings.Builder
	for i := range objects {
		fmt.Fprintf(&manifests, `---
{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: measured-%d}, spec: {
  suspend: true, ports: [{name: tcp, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}}
`, i)
	}
	var complaints bytes.Buffer
	if err := r.stage.KubectlIO(ctx, strings.NewReader(manifests.String()), io.Discard, &complaints, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("%w: %s", err, complaints.String())
	}
	return nil
}

func (r *run) measure(ctx context.Context) (Result, error) {
	stocked, err := r.stock(ctx)
	if err != nil {
		return Result{}, err
	}
	releasing, err := r.stock(ctx, "--release")
	if err != nil {
		return Result{}, err
	}
	fairlead := ours(r.stage)
	mine, err := r.starts(ctx, "fairlead", fairlead)
	if err != nil {
		return Result{}, err
	}
	theirs, err := r.starts(ctx, "controller-runtime", stocked)
	if err != nil {
		return Result{}, err
	}
	result := Result{rows: []Row{
		newRow(StartPrefix+"webhook-serving", "< 150", mine.serving, theirs.serving),
		newRow(StartPrefix+"caches-synced", "", mine.synced, theirs.synced),
		newRow(StartPrefix+"first-reconcile", "< 500", mine.reconcile, theirs.reconcile),
	}}
	for _, way := range []struct {
		name, target string
		end          end
		ours, peer   side
	}{
		{"release", "< 2500", told, fairlead, releasing},
		{"release-beside-default", "< 2500", told, fairlead, stocked},
		{"kill", "<= 15500", killed, fairlead, stocked},
		{"for-life", "< 2500", killed, r.forLife(), stocked},
	} {
		mine, err := r.handovers(ctx, way.name+", fairlead", way.ours, way.end)
		if err != nil {
			return result, err
		}
		theirs, err := r.handovers(ctx, way.name+", controller-runtime", way.peer, way.end)
		if err != nil {
			return result, err
		}
		result.rows = append(result.rows, newRow(Prefix+way.name, way.target, mine, theirs))
	}
	return result, nil
}

// begun is how long starts took.
type begun struct{ serving, synced, reconcile []time.Duration }

// starts measures a process that finds its Lease free.
func (r *run) starts(ctx context.Context, name string, s side) (all begun, err error) {
	for n := range r.options.Runs {
		err := r.within(ctx, fmt.Sprintf("start %d of %s", n+1, name), func(ctx context.Context) error {
			if err := r.free(ctx, s); err != nil {
				return err
			}
			began := time.Now()
			replica, err := s.start(ctx)
			if err != nil {
				return err
			}
			defer replica.Stop()
			serving, err := replica.serves(ctx)
			if err != nil {
				return err
			}
			first, err := r.log.First(ctx, "begin", began, func(id string) bool { return id == replica.id })
			if err != nil {
				return err
			}
			synced, err := s.synced(ctx, replica, began)
			if err != nil {
				return err
			}
			all.serving = append(all.serving, serving.Sub(began))
			all.synced = append(all.synced, synced)
			all.reconcile = append(all.reconcile, first.At.Sub(began))
			return nil
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// handovers measures from the end of a leader until another one, that was ready for it, reconciles.
func (r *run) handovers(ctx context.Context, name string, s side, by end) (all []time.Duration, err error) {
	for n := range r.options.Runs {
		err := r.within(ctx, fmt.Sprintf("handover %d by %s", n+1, name), func(ctx context.Context) error {
			if err := r.free(ctx, s); err != nil {
				return err
			}
			began := time.Now()
			leader, err := s.start(ctx)
			if err != nil {
				return err
			}
			defer leader.Stop()
			if _, err := r.log.First(ctx, "begin", began, func(id string) bool { return id == leader.id }); err != nil {
				return err
			}
			standby, err := s.start(ctx)
			if err != nil {
				return err
			}
			defer standby.Stop()
			if _, err := standby.serves(ctx); err != nil {
				return err
			}
			if s.warm != nil {
				if err := s.warm(ctx, standby); err != nil {
					return err
				}
			}
			if err := settle(ctx); err != nil {
				return err
			}
			ended := time.Now()
			if err := by(leader.PID()); err != nil {
				return err
			}
			if err := s.reportEnd(ctx, leader); err != nil {
				return err
			}
			next, err := r.log.First(ctx, "begin", ended, func(id string) bool { return id == standby.id })
			if err != nil {
				return err
			}
			all = append(all, next.At.Sub(ended))
			standby.Stop()
			return s.reportEnd(ctx, standby)
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// end is how a leader ends.
type end func(pid int) error

func told(pid int) error   { return syscall.Kill(pid, syscall.SIGTERM) }
func killed(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// within bounds one step, and says how it went.
func (r *run) within(ctx context.Context, what string, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, r.patience, fmt.Errorf("not within %s", r.patience))
	defer cancel()
	began := time.Now()
	if err := do(bounded); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	_, _ = fmt.Fprintf(r.options.Output, "handover: %s took %s in all\n", what, time.Since(began).Round(time.Millisecond))
	return nil
}

// free deletes the Lease that a former process left.
func (r *run) free(ctx context.Context, s side) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: framework.Namespace, Name: s.lease}}
	return client.IgnoreNotFound(r.stage.Client.Delete(ctx, lease))
}

// settle gives the standby time to fill what it keeps warm, and both to renew at least once.
func settle(ctx context.Context) error {
	timer := time.NewTimer(4 * time.Second)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
