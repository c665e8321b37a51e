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

// onlook fills what admission warns from on a replica that has no term: two kinds, at the version that
// is stored, so nothing is converted for it. It begins when the webhooks answer, nothing waits for it, and
// what goes wrong costs warnings and nothing else: it tries again until ctx ends.
func (a *assembly) onlook(ctx context.Context) error {
	filled := a.recorder.Begin(phases.Caches)
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		err := a.look(ctx, func() { filled(nil) })
		a.overlaps.reader.Store(nil)
		a.lookedAway(ctx, err, pause)
	}
	return nil
}

// lookedAway tells why no user is warned, and lets a pause pass. Where ctx has ended, that is the reason,
// and no fault.
func (a *assembly) lookedAway(ctx context.Context, reason error, pause time.Duration) {
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

// look keeps one cache until ctx ends or it fails.
func (a *assembly) look(ctx context.Context, filled func()) error {
	made, err := a.newCluster(a.api.unlimited(), nil)
	if err != nil {
		return err
	}
	defer a.undecodable.Clear()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- contain(ctx, named{"caches of admission", made.Start}) }()
	if err := a.awaitOverlaps(ctx, made); err != nil {
		cancel()
		return errors.Join(err, <-ended)
	}
	defer cancel()
	a.overlaps.open(made.GetCache())
	filled()
	return <-ended
}

// awaitOverlaps waits for what admission reads from the cache.
func (a *assembly) awaitOverlaps(ctx context.Context, from cluster.Cluster) error {
	return synced(ctx, from.GetCache(), a.scheme, admissionReads(), a.config.Controllers.CacheSyncTimeout.Duration,
		func(kind string) { a.recorder.Progress(phases.Caches, "waiting for %s", kind) })
}
