// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
)

// runWarningCache runs the cache that admission warns from on a replica without controllers: two kinds, at the
// version that is stored, so that nothing is converted for it. It begins when the webhooks are served, nothing
// waits for it, and a failure costs warnings alone: it is retried until ctx ends.
func (a *assembly) runWarningCache(ctx context.Context) error {
	filled := a.recorder.Begin(phases.Caches)
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		err := a.serveWarningCache(ctx, func() { filled(nil) })
		a.warnings.DropCaches()
		a.retryWarningCache(ctx, err, pause)
	}
	return nil
}

// retryWarningCache reports why no user is warned, and waits. An ended ctx is no fault.
func (a *assembly) retryWarningCache(ctx context.Context, reason error, pause time.Duration) {
	if ctx.Err() != nil {
		return
	}
	a.Logger.Error(reason, "writers are not warned of overlaps; retrying", "in", pause.String())
	a.recorder.Progress(phases.Caches, "writers are not warned of overlaps: %v", reason)
	retry := time.NewTimer(pause)
	defer retry.Stop()
	select {
	case <-ctx.Done():
	case <-retry.C:
	}
}

// serveWarningCache runs one cache until ctx ends or it fails.
func (a *assembly) serveWarningCache(ctx context.Context, filled func()) error {
	made, err := a.newCluster(a.api.withoutLimit(), nil)
	if err != nil {
		return err
	}
	defer a.undecodable.Clear()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runContained(ctx, component{"caches of admission", made.Start}) }()
	if err := a.syncWarningCache(ctx, made); err != nil {
		cancel()
		return errors.Join(err, <-ended)
	}
	defer cancel()
	a.warnings.SetCaches(made.GetCache(), nil)
	filled()
	return <-ended
}

// syncWarningCache waits until the kinds that admission reads have synced.
func (a *assembly) syncWarningCache(ctx context.Context, from cluster.Cluster) error {
	return waitForInformers(ctx, from.GetCache(), a.scheme, admissionKinds(), a.config.Controllers.CacheSyncTimeout.Duration,
		func(kind string) { a.recorder.Progress(phases.Caches, "waiting for %s", kind) })
}
