// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/follow"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Run takes up what happens to the Secret, renews the serving certificate in time and carries
// rotations on, until ctx ends. The Secret is watched so that a change counts at once, and read at every interval so that
// a watch that is refused or silently dead costs no more than that.
func (a *Authority) Run(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	watching := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); <-watching }()
	go func() {
		defer close(watching)
		panics.Go("certificates", func() { a.watchSecret(ctx, changed) })
	}()

	var seen retry.Distinct
	for pause := a.untilNextWake(nil); ; {
		timer := a.options.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		case <-changed:
			timer.Stop()
		}
		err := a.refresh(ctx)
		if err == nil {
			seen.Reset()
		} else if ctx.Err() == nil {
			a.reloads.Count(certs.ReloadFailed)
			if seen.Add(err) {
				a.options.Log.Error(err, "the webhook's certificate authority could not be read; the last good one stays in use")
			}
		}
		pause = a.untilNextWake(err)
	}
}

// minInterval bounds how often the Secret is read though no event says that it has changed.
const minInterval = 100 * time.Millisecond

// untilNextWake is how long there is nothing to do. What failed is not repeated before the interval has
// passed, and only the serving certificate does not wait for that.
func (a *Authority) untilNextWake(failure error) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.options.Clock.Now()
	at := a.nextWake(now)
	if failure != nil {
		at = now.Add(a.options.Interval)
		if a.serving != nil && a.serving.renewAt.After(now) {
			at = earlier(at, a.serving.renewAt)
		}
	}
	return max(at.Sub(now), minInterval)
}

// refresh synchronizes with the Secret, and looks for the bundle where that decides what follows.
// The serving certificate is renewed whatever comes of it: that takes only what is in memory.
func (a *Authority) refresh(ctx context.Context) error {
	err := a.synchronizeBounded(ctx)
	if err == nil && a.isCheckDue() && a.checkBundle(ctx) {
		err = a.synchronizeBounded(ctx)
	}
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if renewErr := a.renew(a.options.Clock.Now()); renewErr != nil {
		return fmt.Errorf("%w; and %w", err, renewErr)
	}
	return err
}

func (a *Authority) synchronizeBounded(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, a.options.AttemptTimeout)
	defer cancel()
	return a.synchronize(bounded)
}

func (a *Authority) isCheckDue() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, _ := a.nextCheck(a.options.Clock.Now())
	return now
}

// watchSecret nudges changed whenever the watch tells of the Secret. It never gives up before ctx
// ends, and never asks more often than once per interval.
func (a *Authority) watchSecret(ctx context.Context, changed chan<- struct{}) {
	var seen retry.Distinct
	for ctx.Err() == nil {
		if err := follow.Object(ctx, a.secrets, a.options.Name, changed); err != nil && ctx.Err() == nil && seen.Add(err) {
			a.options.Log.Info("the Secret cannot be watched, so changes count only when it is next read",
				"secret", a.String(), "interval", a.options.Interval.String(), "reason", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-a.options.Clock.After(a.options.Interval):
		}
	}
}
