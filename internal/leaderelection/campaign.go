// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// campaign waits until this replica holds the Lease. It returns nil when ctx ended first.
func (e *Elector) campaign(ctx context.Context) (*term, error) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	leases := make(chan *coordinationv1.Lease)
	following.Go(func() { panics.Go("election", func() { e.follow(ctx, leases) }) })

	var seen sighting
	alarm := e.Clock.NewTimer(e.LeaseDuration)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case lease := <-leases:
			seen = seen.with(lease, e.Clock.Now())
			e.saw(holder(lease))
		case <-alarm.C():
		}
		wait := seen.freeIn(e.Clock.Now(), e.LeaseDuration)
		if wait == 0 {
			won, err := bounded(ctx, e.Clock, e.RenewDeadline/2, func(ctx context.Context) (*term, error) {
				return e.take(ctx, seen.lease, int32(e.LeaseDuration/time.Second))
			})
			if err == nil {
				e.saw(e.Identity)
				return won, nil
			}
			seen = e.missed(ctx, seen, err)
			wait = max(e.RetryPeriod, seen.freeIn(e.Clock.Now(), e.LeaseDuration))
		}
		reset(alarm, wait)
	}
}

// missed returns what is known after an attempt that failed. Where another candidate was faster the
// Lease is read again, since a watch that is dead without knowing it would never show the winner.
func (e *Elector) missed(ctx context.Context, seen sighting, err error) sighting {
	if ctx.Err() != nil {
		return seen
	}
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
		e.Logger.Error(err, "cannot take the Lease; retrying", "lease", e.lease(), "period", e.RetryPeriod)
		return seen
	}
	e.Logger.V(1).Info("another replica was faster", "lease", e.lease())
	lease, err := bounded(ctx, e.Clock, e.RenewDeadline/2, e.get)
	if err != nil {
		return seen
	}
	e.saw(holder(lease))
	return seen.with(lease, e.Clock.Now())
}

// jittered spreads replicas that would otherwise ask in step, by up to a fifth.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*0.2*float64(d)) //nolint:gosec // no secret depends on it
}
