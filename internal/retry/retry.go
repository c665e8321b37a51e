// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry repeats a step against something that may be slow, dead or not yet there, until
// it succeeds or it is plain that it will not. It never repeats without a wait, and never logs
// the same error twice in one call.
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

// Policy says how long and how often.
type Policy struct {
	// Clock tells the time and waits. Default: the real one.
	Clock clock.Clock

	// Log takes one line for each distinct error that is retried.
	Log logr.Logger

	// MinDelay is the wait after the first failure; it doubles up to Most, each with up to a fifth
	// on top. Defaults: 200 ms and 5 s.
	MinDelay, MaxDelay time.Duration

	// AttemptTimeout bounds one attempt, so that a server which never answers is noticed and named.
	// Default: 10 s.
	AttemptTimeout time.Duration

	// BoundedTimeout is how long an error marked by Stubborn is retried. Zero gives up at its first
	// appearance.
	BoundedTimeout time.Duration
}

func (p Policy) withDefaults() Policy {
	if p.Clock == nil {
		p.Clock = clock.RealClock{}
	}
	if p.MinDelay <= 0 {
		p.MinDelay = 200 * time.Millisecond
	}
	if p.MaxDelay <= 0 {
		p.MaxDelay = 5 * time.Second
	}
	if p.AttemptTimeout <= 0 {
		p.AttemptTimeout = 10 * time.Second
	}
	return p
}

// Until calls step until it returns nil, until it returns a final error, until a stubborn error
// has lasted for the policy's time, or until ctx ends. The error is the last one of step; when ctx
// ended it says so too.
func Until(ctx context.Context, policy Policy, step func(context.Context) error) error {
	policy = policy.withDefaults()
	var seen Distinct
	var stubbornSince time.Time
	var last error
	for pause := policy.MinDelay; ; pause = min(2*pause, policy.MaxDelay) {
		if ctx.Err() != nil {
			return ended(ctx, last)
		}
		err := attempt(ctx, policy.AttemptTimeout, step)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && last != nil && errors.Is(err, ctx.Err()) {
			return ended(ctx, last) // what went wrong before says more than "canceled"
		}
		last = err
		now := policy.Clock.Now()
		switch kindOf(err) {
		case final:
			return err
		case bounded:
			if stubbornSince.IsZero() {
				stubbornSince = now
			}
			if now.Sub(stubbornSince) >= policy.BoundedTimeout {
				return err
			}
		default:
			stubbornSince = time.Time{}
		}
		if seen.Add(err) {
			policy.Log.Info("waiting", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return ended(ctx, err)
		case <-policy.Clock.After(wait.Jitter(pause, 0.2)):
		}
	}
}

func attempt(ctx context.Context, limit time.Duration, step func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := step(bounded)
	if err != nil && ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s: %w", limit, err)
	}
	return err
}

func ended(ctx context.Context, last error) error {
	if last == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("gave up (%w): %w", context.Cause(ctx), last)
}
