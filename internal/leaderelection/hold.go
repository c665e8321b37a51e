// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// work is what runs while this replica leads.
type work struct {
	stop    context.CancelCauseFunc
	ended   <-chan error
	drained <-chan time.Time // nil until the work must stop
}

// startWork runs lead with a context that outlives ctx: until the work has ended, this replica must
// still lead.
func startWork(ctx context.Context, lead func(context.Context) error) *work {
	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- recoverPanic(working, lead) }()
	return &work{stop: stop, ended: ended}
}

// hold runs lead and renews the Lease until lead has returned.
func (e *Elector) hold(ctx context.Context, t term, lead func(context.Context) error) error {
	w := startWork(ctx, lead)
	defer w.stop(nil)

	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	renewals := make(chan renewalResult, 1)
	renewing, sent := false, time.Time{}

	stopped := ctx.Done()
	deadline := e.Clock.NewTimer(e.untilDeadline(t))
	defer deadline.Stop()
	next := e.Clock.NewTimer(e.RetryPeriod)
	defer next.Stop()

	for {
		select {
		case err := <-w.ended:
			cancel()
			if renewing {
				if done := <-renewals; done.err == nil {
					t = done.term
				}
			}
			e.releaseLease(ctx, t)
			return err

		case <-stopped:
			stopped = nil
			w.stop(context.Canceled)
			drain := e.Clock.NewTimer(e.DrainTimeout)
			defer drain.Stop()
			w.drained = drain.C()

		case <-w.drained:
			return fmt.Errorf("election: %s still run %s after they were told to stop: the Lease %s is left to run out", e.Work, e.DrainTimeout, e.lease())

		case <-next.C():
			renewing, sent = true, e.Clock.Now()
			go func(t term) { renewals <- e.renewOnce(requests, t) }(t)

		case done := <-renewals:
			renewing = false
			// From one request to the next: after one that hung there is no time to lose.
			resetTimer(next, max(0, e.RetryPeriod-e.Clock.Since(sent)))
			switch {
			case done.err == nil:
				t = done.term
				e.guard.allow(t)
				resetTimer(deadline, e.untilDeadline(t))
				e.Logger.V(3).Info("Lease renewed", "lease", e.lease())
			case errors.Is(done.err, ErrTaken):
				return e.stopWork(done.err, w)
			default:
				e.Logger.Error(done.err, "cannot renew the Lease; retrying", "lease", e.lease(), "period", e.RetryPeriod, "left", e.untilDeadline(t))
			}

		case <-deadline.C():
			return e.stopWork(fmt.Errorf("not renewed for %s", e.RenewDeadline), w)
		}
	}
}

type renewalResult struct {
	term term
	err  error
}

// renewOnce makes one attempt to renew. A request that hangs is canceled, so that there is another attempt
// before the deadline.
func (e *Elector) renewOnce(ctx context.Context, t term) renewalResult {
	limit := max(e.RetryPeriod, e.RenewDeadline/2)
	renewed, err := withTimeout(ctx, e.Clock, limit, func(ctx context.Context) (term, error) { return e.renew(ctx, t) })
	return renewalResult{term: renewed, err: err}
}

// stopWork cancels the work at once and waits for it to end. It never changes the Lease, which is lost.
func (e *Elector) stopWork(reason error, w *work) error {
	e.guard.revoke()
	w.stop(fmt.Errorf("%w: %w", ErrLost, reason))
	e.setLeading(false)
	e.Logger.Error(reason, "the Lease is lost: "+e.Work+" must stop", "lease", e.lease())
	timeout := e.Clock.NewTimer(e.LossTimeout)
	defer timeout.Stop()
	select {
	case err := <-w.ended:
		if err != nil && !errors.Is(err, context.Canceled) {
			e.Logger.Error(err, e.Work+" ended with an error", "lease", e.lease())
		}
		return ErrLost
	case <-timeout.C():
		return fmt.Errorf("%w, and %s still run %s after they were told to stop: %w", ErrLost, e.Work, e.LossTimeout, ErrStillRunning)
	}
}

// releaseLease releases the Lease. Where that fails it expires by itself, only later.
func (e *Elector) releaseLease(ctx context.Context, t term) {
	e.guard.revoke() // before another replica can acquire the Lease
	_, err := withTimeout(context.WithoutCancel(ctx), e.Clock, e.RenewDeadline/2, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.release(ctx, t)
	})
	if err != nil {
		e.Logger.Error(err, "cannot release the Lease: it runs out by itself", "lease", e.lease(), "in", e.LeaseDuration)
		return
	}
	e.observeHolder("")
	e.Logger.Info("Lease released", "lease", e.lease())
}

// untilDeadline is the time until this replica must have stopped leading.
func (e *Elector) untilDeadline(t term) time.Duration {
	return t.renewed.Add(e.RenewDeadline).Sub(e.Clock.Now())
}

// errPodGone means that this replica's own Pod is gone, as after a deletion by force: other replicas assume
// that the process has ended.
var errPodGone = errors.New("this replica's own Pod is gone")

// holdForLife runs lead until it has returned. The Lease is watched instead of renewed: where it was deleted
// and the Pod exists it is created again, and where another replica holds it this one has lost.
func (e *Elector) holdForLife(ctx context.Context, t term, lead func(context.Context) error) error {
	w := startWork(ctx, lead)
	defer w.stop(nil)

	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var goroutines sync.WaitGroup
	defer goroutines.Wait()
	defer cancel()
	leases := make(chan *coordinationv1.Lease)
	goroutines.Go(func() { panics.Go("election", func() { e.watchLease(watching, leases) }) })
	recreated := make(chan renewalResult, 1)
	recreating, deleted := false, false // deleted: again, while it is being created
	recreate := func() {
		recreating, deleted = true, false
		goroutines.Go(func() {
			done := renewalResult{term: t}
			done.err = panics.Try("election", func() error {
				done = e.recreateLease(watching, t)
				return done.err
			})
			recreated <- done
		})
	}

	stopped := ctx.Done()
	again := e.Clock.NewTimer(e.RetryPeriod)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case err := <-w.ended:
			cancel()
			goroutines.Wait()
			select {
			case done := <-recreated:
				if done.err == nil {
					t = done.term
				}
			default:
			}
			e.releaseLease(ctx, t)
			return err

		case <-stopped:
			stopped = nil
			w.stop(context.Canceled)
			drain := e.Clock.NewTimer(e.DrainTimeout)
			defer drain.Stop()
			w.drained = drain.C()

		case <-w.drained:
			return fmt.Errorf("election: %s still run %s after they were told to stop: the lock %s goes with the Pod", e.Work, e.DrainTimeout, e.lease())

		case lease := <-leases:
			switch {
			case t.isHeld(e.Identity, lease):
				t.lease, deleted = lease, false
			case lease != nil:
				return e.stopWork(fmt.Errorf("%w: %q", ErrTaken, holder(lease)), w)
			case recreating:
				deleted = true // perhaps again
			default:
				recreate()
			}

		case <-again.C():
			if !recreating {
				recreate()
			}

		case done := <-recreated:
			recreating = false
			switch {
			case done.err == nil:
				t = done.term
				if deleted {
					recreate()
				}
			case errors.Is(done.err, ErrTaken), errors.Is(done.err, errPodGone):
				return e.stopWork(done.err, w)
			default:
				e.Logger.Error(done.err, "the lock has vanished and cannot be made again; retrying", "lease", e.lease(), "period", e.RetryPeriod)
				resetTimer(again, e.RetryPeriod)
			}
		}
	}
}

// recreateLease creates a deleted Lease again, or finds that this replica must not lead. Meanwhile no other
// replica acquires it: candidates that saw the deletion check the Pod first.
func (e *Elector) recreateLease(ctx context.Context, t term) renewalResult {
	owner := podOwner(t.lease)
	pod, err := e.getPod(ctx, e.Life.Pod)
	if err != nil {
		return renewalResult{t, err}
	}
	if pod == nil || owner == nil || pod.UID != owner.UID || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return renewalResult{t, errPodGone}
	}
	created, err := withTimeout(ctx, e.Clock, e.RenewDeadline/2, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return e.writeLease(ctx, nil, t.lease.Spec, *owner)
	})
	if apierrors.IsAlreadyExists(err) {
		if created, err = withTimeout(ctx, e.Clock, e.RenewDeadline/2, e.getLease); err == nil && !t.isHeld(e.Identity, created) {
			err = ErrTaken
		}
	}
	if err != nil {
		return renewalResult{t, err}
	}
	e.Logger.Info("the lock was deleted and is made again: this Pod runs", "lease", e.lease())
	t.lease = created
	return renewalResult{t, nil}
}
