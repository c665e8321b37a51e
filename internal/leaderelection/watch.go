// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead-dev/fairlead/internal/objectwatch"
)

// watchLease sends the Lease whenever it changes, nil where there is none, until ctx ends. It reads and then
// watches; where watching fails, that amounts to polling once in a retry period.
func (e *Elector) watchLease(ctx context.Context, leases chan<- *coordinationv1.Lease) {
	logged := false
	for ctx.Err() == nil {
		began := e.options.Clock.Now()
		err := e.watchLeaseOnce(ctx, leases)
		if err != nil && ctx.Err() == nil {
			// Once: an API server that is away for an hour is not 1,800 errors.
			if !logged {
				e.options.Logger.Error(err, "cannot follow the Lease; retrying", "lease", e.lease(), "period", e.options.RetryPeriod)
			}
			logged = true
		} else {
			logged = false
		}
		// A watch that ended at once must not be started again without a pause.
		if pause := jittered(e.options.RetryPeriod) - e.options.Clock.Since(began); pause > 0 {
			e.pause(ctx, pause)
		}
	}
}

func (e *Elector) watchLeaseOnce(ctx context.Context, leases chan<- *coordinationv1.Lease) error {
	lease, err := withTimeout(ctx, e.options.Clock, e.options.RenewDeadline/2, e.getLease)
	if err != nil {
		return err
	}
	if !send(ctx, leases, lease) {
		return nil
	}
	// Not from the version of the Lease: where it was not written for long, etcd has compacted that version, and every
	// attempt would be refused. The API server sends what is stored first.
	events, err := e.leases.Watch(ctx, objectwatch.ListOptions(e.options.Name))
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			if !open {
				return nil
			}
			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			if lease, changed := e.leaseOf(event); changed && !send(ctx, leases, lease) {
				return nil
			}
		}
	}
}

// leaseOf returns the Lease as it is after an event, nil where it was deleted. It reports false for an event of another
// object, and for one without a change.
func (e *Elector) leaseOf(event watch.Event) (*coordinationv1.Lease, bool) {
	lease, ok := event.Object.(*coordinationv1.Lease)
	if !ok || event.Type == watch.Bookmark || lease.Name != e.options.Name {
		return nil, false
	}
	if event.Type == watch.Deleted {
		return nil, true
	}
	return lease, true
}

func (e *Elector) pause(ctx context.Context, d time.Duration) {
	timer := e.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

func send(ctx context.Context, leases chan<- *coordinationv1.Lease, lease *coordinationv1.Lease) bool {
	select {
	case <-ctx.Done():
		return false
	case leases <- lease:
		return true
	}
}
