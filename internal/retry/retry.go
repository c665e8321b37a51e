// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// Policy defines how often and for how long to retry. The zero value retries with the defaults.
type Policy struct {
	// Clock is the clock. Defaults to the real clock.
	Clock clock.Clock

	// Log gets one line for each distinct error that is retried. Not used where OnRetry is set.
	Log logr.Logger

	// OnRetry is called after each failed attempt that is followed by another one, before the delay,
	// for callers that log or report in words of their own. Defaults to nil: Log is used.
	OnRetry func(err error, delay time.Duration)

	// MinDelay is the delay after the first failure. It doubles up to MaxDelay; each delay is
	// lengthened by up to a fifth. Equal values give a constant delay. Defaults to 200 ms, and 5 s or
	// MinDelay where that is longer.
	MinDelay, MaxDelay time.Duration

	// AttemptTimeout bounds one attempt, so that a server which never responds is noticed and named.
	// Negative means no bound, for an attempt that lasts as long as it succeeds. Defaults to 10 s.
	AttemptTimeout time.Duration

	// BoundedTimeout is how long errors marked by Bounded are retried. Zero returns them at once.
	BoundedTimeout time.Duration

	// Forever retries until ctx ends, whatever mark an error has: for an attempt that nothing else waits for.
	// Defaults to false.
	Forever bool
}

func (p Policy) withDefaults() Policy {
	if p.Clock == nil {
		p.Clock = clock.RealClock{}
	}
	if p.MinDelay <= 0 {
		p.MinDelay = 200 * time.Millisecond
	}
	if p.MaxDelay <= 0 {
		p.MaxDelay = max(p.MinDelay, 5*time.Second)
	}
	if p.AttemptTimeout == 0 {
		p.AttemptTimeout = 10 * time.Second
	}
	if p.OnRetry == nil {
		var logged Distinct
		p.OnRetry = func(err error, _ time.Duration) {
			if logged.Add(err) {
				p.Log.Info("waiting", "reason", err.Error())
			}
		}
	}
	return p
}

// Until calls attempt until it returns nil, until it returns a final error, until bounded errors have
// lasted for the policy's time, or until ctx ends. It returns the last error of attempt; where ctx
// ended, the error wraps its cause too.
func Until(ctx context.Context, policy Policy, attempt func(context.Context) error) error {
	policy = policy.withDefaults()
	var boundedSince time.Time
	var last error
	for delay := policy.MinDelay; ; delay = min(2*delay, policy.MaxDelay) {
		if ctx.Err() != nil {
			return ended(ctx, last)
		}
		err := withTimeout(ctx, policy.AttemptTimeout, attempt)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && last != nil && errors.Is(err, ctx.Err()) {
			return ended(ctx, last) // what went wrong before says more than "canceled"
		}
		last = err
		now := policy.Clock.Now()
		switch mark := kindOf(err); {
		case policy.Forever:
		case mark == final:
			return err
		case mark == bounded:
			if boundedSince.IsZero() {
				boundedSince = now
			}
			if now.Sub(boundedSince) >= policy.BoundedTimeout {
				return err
			}
		default:
			boundedSince = time.Time{}
		}
		if ctx.Err() != nil {
			return ended(ctx, err)
		}
		jittered := wait.Jitter(delay, 0.2)
		policy.OnRetry(err, jittered)
		timer := policy.Clock.NewTimer(jittered)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ended(ctx, err)
		case <-timer.C():
		}
	}
}

func withTimeout(ctx context.Context, timeout time.Duration, attempt func(context.Context) error) error {
	if timeout < 0 {
		return attempt(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := attempt(limited)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s: %w", timeout, err)
	}
	return err
}

func ended(ctx context.Context, last error) error {
	if last == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("gave up (%w): %w", context.Cause(ctx), last)
}
