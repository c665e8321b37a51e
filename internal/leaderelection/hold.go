// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"time"
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
	deadline := e.options.Clock.NewTimer(e.untilDeadline(t))
	defer deadline.Stop()
	next := e.options.Clock.NewTimer(e.options.RetryPeriod)
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
			drain := e.options.Clock.NewTimer(e.options.DrainTimeout)
			defer drain.Stop()
			w.drained = drain.C()

		case <-w.drained:
			return fmt.Errorf("election: %s still run %s after they were told to stop: the Lease %s is left to run out", e.options.Work, e.options.DrainTimeout, e.lease())

		case <-next.C():
			renewing, sent = true, e.options.Clock.Now()
			go func(t term) { renewals <- e.renewOnce(requests, t) }(t)

		case done := <-renewals:
			renewing = false
			// From one request to the next: after one that hung there is no time to lose.
			resetTimer(next, max(0, e.options.RetryPeriod-e.options.Clock.Since(sent)))
			switch {
			case done.err == nil:
				t = done.term
				e.guard.allow(t)
				resetTimer(deadline, e.untilDeadline(t))
				e.options.Logger.V(3).Info("Lease renewed", "lease", e.lease())
			case errors.Is(done.err, ErrTaken), errors.Is(done.err, errPodGone):
				return e.stopWork(done.err, w)
			default:
				e.options.Logger.Error(done.err, "cannot renew the Lease; retrying", "lease", e.lease(),
					"period", e.options.RetryPeriod, "left", e.untilDeadline(t))
			}

		case <-deadline.C():
			return e.stopWork(fmt.Errorf("not renewed for %s", e.options.RenewDeadline), w)
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
	renew := e.renew
	if e.options.Life != nil {
		renew = e.confirm
	}
	limit := max(e.options.RetryPeriod, e.options.RenewDeadline/2)
	renewed, err := withTimeout(ctx, e.options.Clock, limit, func(ctx context.Context) (term, error) { return renew(ctx, t) })
	return renewalResult{term: renewed, err: err}
}

// stopWork cancels the work at once and waits for it to end. It never changes the Lease, which is lost.
func (e *Elector) stopWork(reason error, w *work) error {
	e.guard.revoke()
	w.stop(fmt.Errorf("%w: %w", ErrLost, reason))
	e.setLeading(false)
	e.options.Logger.Error(reason, "the Lease is lost: "+e.options.Work+" must stop", "lease", e.lease())
	timeout := e.options.Clock.NewTimer(e.options.LossTimeout)
	defer timeout.Stop()
	select {
	case err := <-w.ended:
		if err != nil && !errors.Is(err, context.Canceled) {
			e.options.Logger.Error(err, e.options.Work+" ended with an error", "lease", e.lease())
		}
		return ErrLost
	case <-timeout.C():
		return fmt.Errorf("%w, and %s still run %s after they were told to stop: %w", ErrLost, e.options.Work, e.options.LossTimeout, ErrStillRunning)
	}
}

// releaseLease releases the Lease. Where that fails it expires by itself, only later.
func (e *Elector) releaseLease(ctx context.Context, t term) {
	e.guard.revoke() // before another replica can acquire the Lease
	_, err := withTimeout(context.WithoutCancel(ctx), e.options.Clock, e.options.RenewDeadline/2, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.release(ctx, t)
	})
	if err != nil {
		e.options.Logger.Error(err, "cannot release the Lease: it runs out by itself", "lease", e.lease(), "in", e.options.LeaseDuration)
		return
	}
	e.observeHolder("")
	e.options.Logger.Info("Lease released", "lease", e.lease())
}

// untilDeadline is the time until this replica must have stopped leading.
func (e *Elector) untilDeadline(t term) time.Duration {
	if e.options.Life != nil {
		return unlimited / 4 // a clock adds it to the present
	}
	return t.renewed.Add(e.options.RenewDeadline).Sub(e.options.Clock.Now())
}
