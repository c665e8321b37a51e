// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/internal/objectwatch"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// minInterval is the least time between two passes, and the first delay after a failure: a target that
// changes continuously costs a read per second, not one per change.
const minInterval = time.Second

// Run keeps the bundle in the targets until ctx ends, and then returns nil. Each target is watched by name,
// so that a lost bundle is restored within seconds, and all are checked at every interval, in case a watch
// is refused or broken. While bundle returns nil, another component injects it and nothing is done.
func (i *Injector) Run(ctx context.Context, bundle func() []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer func() { cancel(); watching.Wait() }()
	changed := make(chan struct{}, 1)
	started := false
	var seen retry.Distinct
	failures := 0
	changing := map[target]bool{} // targets that the bundle which has changed did not reach yet
	timer := i.options.Clock.NewTimer(i.options.Jitter(i.options.Interval))
	defer timer.Stop()
	events, watchAgain := changed, (<-chan time.Time)(nil) // watches are ignored for minInterval after a pass
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watchAgain:
			events, watchAgain = changed, nil
			continue
		case <-i.triggered:
			for _, t := range i.targets {
				changing[t] = true
			}
		case <-events:
		case <-timer.C():
		}
		pause := i.options.Interval
		wanted := bundle()
		if wanted != nil && !started {
			started = true
			for _, t := range i.targets {
				watching.Go(func() { panics.Go("CA injection", func() { i.watchTarget(ctx, t, changed) }) })
			}
		}
		err := i.injectAll(ctx, wanted, changing)
		switch {
		case err == nil:
			seen.Reset()
			failures = 0
		case ctx.Err() == nil:
			failures++
			pause = i.retryDelay(err, failures)
			if seen.Add(err) {
				i.options.Log.Error(err, "the CA bundle did not reach every target; calls to the webhook may fail")
			}
		}
		timer.Reset(i.options.Jitter(pause))
		events, watchAgain = nil, i.options.Clock.After(min(minInterval, i.options.Interval/10))
	}
}

// retryDelay is how long to wait after a failure: longer after each, and no longer than until the budget
// allows the first write that it withholds.
func (i *Injector) retryDelay(err error, failures int) time.Duration {
	if isForeign(err) {
		return i.options.Interval // its watch tells when that changes
	}
	pause := min(minInterval<<min(failures-1, 12), i.options.Interval/10)
	if until := firstAllowedAt(err); !until.IsZero() {
		pause = min(max(until.Sub(i.options.Clock.Now()), 0), i.options.Interval)
	}
	return pause
}

// isForeign reports whether all that failed are targets of another installation.
func isForeign(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(one error) bool { return !isForeign(one) })
	}
	var foreign *foreignError
	return errors.As(err, &foreign)
}

// firstAllowedAt is when the first of the withheld writes is allowed; zero where there is any other error.
func firstAllowedAt(err error) time.Time {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var first time.Time
		for _, one := range joined.Unwrap() {
			until := firstAllowedAt(one)
			if until.IsZero() {
				return until
			}
			if first.IsZero() || until.Before(first) {
				first = until
			}
		}
		return first
	}
	var write *withheldError
	if errors.As(err, &write) {
		return write.until
	}
	return time.Time{}
}

// watchTarget signals changes of the target until ctx ends.
func (i *Injector) watchTarget(ctx context.Context, t target, changed chan<- struct{}) {
	objectwatch.Run(ctx, objectwatch.Options{
		Client: i.options.Client.Resource(t.kind.resource), Name: t.name, Changed: changed, Work: "CA injection",
		Clock: i.options.Clock, MinDelay: minInterval, MaxDelay: i.options.Interval, Jitter: i.options.Jitter,
		OnError: func(err error) {
			i.options.Log.Info("cannot be watched, so that a lost CA bundle is noticed only when it is next looked for",
				"kind", t.kind.name, "name", t.name, "interval", i.options.Interval.String(), "reason", err.Error())
		},
	})
}
