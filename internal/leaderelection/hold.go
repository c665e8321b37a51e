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

// hold runs lead and renews the Lease until lead has returned.
func (e *Elector) hold(ctx context.Context, t term, lead func(context.Context) error) error {
	// The work outlives ctx by the time it takes to end, during which it must still be leading.
	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	ended := make(chan error, 1)
	go func() { ended <- recoverPanic(working, lead) }()

	renewing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	renewals := make(chan renewalResult, 1)
	inFlight := false

	stopped := ctx.Done()
	deadline := e.Clock.NewTimer(e.untilDeadline(t))
	defer deadline.Stop()
	next := e.Clock.NewTimer(e.RetryPeriod)
	defer next.Stop()
	// The drain timeout runs from the stop on; until then its channel is nil.
	var drained <-chan time.Time

	for {
		select {
		case err := <-ended:
			cancel()
			if inFlight {
				if done := <-renewals; done.err == nil {
					t = done.term
				}
			}
			e.guard.revoke() // before the release can arrive, from when on another replica may act
			e.releaseLease(ctx, t)
			return err

		case <-stopped:
			stopped = nil
			stop(context.Canceled)
			drain := e.Clock.NewTimer(e.DrainTimeout)
			defer drain.Stop()
			drained = drain.C()

		case <-drained:
			return fmt.Errorf("election: %s still run %s after they were told to stop: the Lease %s is left to run out", e.Work, e.DrainTimeout, e.lease())

		case <-next.C():
			inFlight = true
			go func(t term) { renewals <- e.renewOnce(renewing, t) }(t)

		case done := <-renewals:
			inFlight = false
			resetTimer(next, e.RetryPeriod)
			switch {
			case done.err == nil:
				t = done.term
				e.guard.allow(t)
				resetTimer(deadline, e.untilDeadline(t))
				e.Logger.V(3).Info("Lease renewed", "lease", e.lease())
			case errors.Is(done.err, ErrTaken):
				return e.stopWork(done.err, stop, ended)
			default:
				e.Logger.Error(done.err, "cannot renew the Lease; retrying", "lease", e.lease(), "period", e.RetryPeriod, "left", e.untilDeadline(t))
			}

		case <-deadline.C():
			return e.stopWork(fmt.Errorf("not renewed for %s", e.RenewDeadline), stop, ended)
		}
	}
}

type renewalResult struct {
	term term
	err  error
}

// renewOnce is one attempt to renew. A request that hangs is given up, so that there is another
// attempt before the deadline.
func (e *Elector) renewOnce(ctx context.Context, t term) renewalResult {
	limit := max(e.RetryPeriod, e.RenewDeadline/2)
	renewed, err := withTimeout(ctx, e.Clock, limit, func(ctx context.Context) (term, error) { return e.renew(ctx, t) })
	return renewalResult{term: renewed, err: err}
}

// stopWork cancels the work at once, waits for it to end, and never touches the Lease: it is not ours.
func (e *Elector) stopWork(reason error, stop context.CancelCauseFunc, ended <-chan error) error {
	e.guard.revoke()
	stop(fmt.Errorf("%w: %w", ErrLost, reason))
	e.setLeading(false)
	e.Logger.Error(reason, "the Lease is lost: "+e.Work+" must stop", "lease", e.lease())
	patience := e.Clock.NewTimer(e.LossTimeout)
	defer patience.Stop()
	select {
	case err := <-ended:
		if err != nil && !errors.Is(err, context.Canceled) {
			e.Logger.Error(err, e.Work+" ended with an error", "lease", e.lease())
		}
		return ErrLost
	case <-patience.C():
		return fmt.Errorf("%w, and %s still run %s after they were told to stop: %w", ErrLost, e.Work, e.LossTimeout, ErrStillRunning)
	}
}

// releaseLease gives the Lease up. Where that fails it runs out by itself, only later.
func (e *Elector) releaseLease(ctx context.Context, t term) {
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

// errPodGone says that this replica's own Pod is gone, as after a deletion by force: the process is
// believed by all others to have ended.
var errPodGone = errors.New("this replica's own Pod is gone")

// holdForLife runs lead until it has returned. Nothing is renewed. The lock is followed: where it
// vanished without the Pod it is made again, and where another replica has it this one has lost.
func (e *Elector) holdForLife(ctx context.Context, t term, lead func(context.Context) error) error {
	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	ended := make(chan error, 1)
	go func() { ended <- recoverPanic(working, lead) }()

	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	locks := make(chan *coordinationv1.Lease)
	others.Go(func() { panics.Go("election", func() { e.watchLease(following, locks) }) })
	claims := make(chan renewalResult, 1)
	claiming, vanished := false, false // vanished: while it was being made
	claim := func() {
		claiming, vanished = true, false
		others.Go(func() {
			done := renewalResult{term: t}
			done.err = panics.Try("election", func() error {
				done = e.recreateLease(following, t)
				return done.err
			})
			claims <- done
		})
	}

	stopped := ctx.Done()
	again := e.Clock.NewTimer(e.RetryPeriod)
	again.Stop()
	defer again.Stop()
	var drained <-chan time.Time
	for {
		select {
		case err := <-ended:
			cancel()
			others.Wait()
			select {
			case done := <-claims:
				if done.err == nil {
					t = done.term
				}
			default:
			}
			e.guard.revoke() // before the release can arrive, from when on another replica may act
			e.releaseLease(ctx, t)
			return err

		case <-stopped:
			stopped = nil
			stop(context.Canceled)
			drain := e.Clock.NewTimer(e.DrainTimeout)
			defer drain.Stop()
			drained = drain.C()

		case <-drained:
			return fmt.Errorf("election: %s still run %s after they were told to stop: the lock %s goes with the Pod", e.Work, e.DrainTimeout, e.lease())

		case lock := <-locks:
			switch {
			case t.isHeld(e.Identity, lock):
				t.lease, vanished = lock, false
			case lock != nil:
				return e.stopWork(fmt.Errorf("%w: %q", ErrTaken, holder(lock)), stop, ended)
			case claiming:
				vanished = true // once more, it may be
			default:
				claim()
			}

		case <-again.C():
			if !claiming {
				claim()
			}

		case done := <-claims:
			claiming = false
			switch {
			case done.err == nil:
				t = done.term
				if vanished {
					claim()
				}
			case errors.Is(done.err, ErrTaken), errors.Is(done.err, errPodGone):
				return e.stopWork(done.err, stop, ended)
			default:
				e.Logger.Error(done.err, "the lock has vanished and cannot be made again; retrying", "lease", e.lease(), "period", e.RetryPeriod)
				resetTimer(again, e.RetryPeriod)
			}
		}
	}
}

// recreateLease makes a lock again that was deleted, or finds that this replica must not lead. Meanwhile
// no other replica takes it: candidates that saw it go look at the Pod first.
func (e *Elector) recreateLease(ctx context.Context, t term) renewalResult {
	owner := podOwner(t.lease)
	pod, err := e.getPod(ctx, e.Life.Pod)
	if err != nil {
		return renewalResult{t, err}
	}
	if pod == nil || owner == nil || pod.UID != owner.UID || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return renewalResult{t, errPodGone}
	}
	made, err := withTimeout(ctx, e.Clock, e.RenewDeadline/2, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return e.writeLease(ctx, nil, t.lease.Spec, *owner)
	})
	if apierrors.IsAlreadyExists(err) {
		if made, err = withTimeout(ctx, e.Clock, e.RenewDeadline/2, e.getLease); err == nil && !t.isHeld(e.Identity, made) {
			err = ErrTaken
		}
	}
	if err != nil {
		return renewalResult{t, err}
	}
	e.Logger.Info("the lock was deleted and is made again: this Pod runs", "lease", e.lease())
	t.lease = made
	return renewalResult{t, nil}
}
