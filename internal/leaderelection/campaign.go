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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// campaign waits until this replica holds the Lease. It returns nil when ctx ended first.
func (e *Elector) campaign(ctx context.Context) (*term, error) {
	acquirableIn := func(seen observedLease) time.Duration {
		return seen.expiresIn(e.options.Clock.Now(), e.options.LeaseDuration)
	}
	duration, owners := int32(e.options.LeaseDuration/time.Second), []metav1.OwnerReference(nil)
	if e.options.Life != nil {
		self, err := e.ownPodReference(ctx)
		if err != nil || self == nil {
			return nil, err
		}
		duration, owners = lifeDurationSeconds, append(owners, *self)
		acquirableIn = func(seen observedLease) time.Duration {
			wait, err := e.acquirableIn(ctx, seen, self)
			if err != nil && ctx.Err() == nil {
				e.options.Logger.Error(err, "cannot tell whether the leader still runs; retrying", "lease", e.lease(), "period", e.options.RetryPeriod)
			}
			return wait
		}
	}
	leases, stop := e.follow(ctx)
	defer stop()
	seen := e.takeObserved()
	alarm := e.options.Clock.NewTimer(acquirableIn(seen))
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case lease := <-leases:
			seen = seen.update(lease, e.options.Clock.Now(), e.options.LeaseDuration)
			e.observeHolder(holder(lease))
		case <-alarm.C():
		}
		wait := acquirableIn(seen)
		if wait == 0 {
			won, err := withTimeout(ctx, e.options.Clock, e.options.RenewDeadline/2, func(ctx context.Context) (*term, error) {
				return e.acquire(ctx, seen.lease, duration, owners...)
			})
			if err == nil {
				e.observeHolder(e.options.Identity)
				return won, nil
			}
			seen = e.afterFailedAttempt(ctx, seen, err)
			wait = max(e.options.RetryPeriod, acquirableIn(seen))
		}
		resetTimer(alarm, wait)
	}
}

// follow sends what watchLease reads, until ctx ends or stop is called, which waits for the watch to end.
func (e *Elector) follow(ctx context.Context) (leases <-chan *coordinationv1.Lease, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	read := make(chan *coordinationv1.Lease)
	watching.Go(func() { panics.Go("election", func() { e.watchLease(ctx, read) }) })
	return read, func() { cancel(); watching.Wait() }
}

// Observe follows the Lease until stop is called or ctx ends. The next Run counts the time without a renewal from here:
// a process that fills its caches first takes over from a leader that has crashed as soon as one that had none to fill.
func (e *Elector) Observe(ctx context.Context) (stop func()) {
	if e.options.Life != nil { // a lock for life does not expire
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	leases, end := e.follow(ctx)
	var observing sync.WaitGroup
	observing.Go(func() { panics.Go("election", func() { e.observe(ctx, leases) }) })
	return func() { cancel(); observing.Wait(); end() }
}

func (e *Elector) observe(ctx context.Context, leases <-chan *coordinationv1.Lease) {
	for {
		select {
		case <-ctx.Done():
			return
		case lease := <-leases:
			e.mu.Lock()
			e.observed = e.observed.update(lease, e.options.Clock.Now(), e.options.LeaseDuration)
			e.mu.Unlock()
			e.observeHolder(holder(lease))
		}
	}
}

// takeObserved returns what Observe has seen, once: what another one has seen is older than the term that ends.
func (e *Elector) takeObserved() observedLease {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := e.observed
	e.observed = observedLease{}
	return seen
}

// afterFailedAttempt returns what is known after an attempt that failed. Where another candidate was faster
// the Lease is read again, since a broken watch would never show the winner.
func (e *Elector) afterFailedAttempt(ctx context.Context, seen observedLease, err error) observedLease {
	if ctx.Err() != nil {
		return seen
	}
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
		e.options.Logger.Error(err, "cannot take the Lease; retrying", "lease", e.lease(), "period", e.options.RetryPeriod)
		return seen
	}
	e.options.Logger.V(1).Info("another replica was faster", "lease", e.lease())
	lease, err := withTimeout(ctx, e.options.Clock, e.options.RenewDeadline/2, e.getLease)
	if err != nil {
		return seen
	}
	e.observeHolder(holder(lease))
	return seen.update(lease, e.options.Clock.Now(), e.options.LeaseDuration)
}

// jittered lengthens a duration by up to a fifth, so that replicas do not act in step.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*0.2*float64(d)) //nolint:gosec // no secret depends on it
}
