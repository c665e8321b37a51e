// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/follow"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Run takes up what cert-manager issues until ctx ends. Both Secrets are watched so that a change
// counts at once, and read at every interval so that a watch that is refused or silently dead costs
// no more than that.
func (s *Source) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }()
	for _, name := range []string{s.options.SecretName, s.options.TrustSecretName} {
		running.Go(func() { panics.Go("certificates", func() { s.watchSecret(ctx, name, changed) }) })
	}
	endFallback := s.runFallback(ctx, &running)

	timer := s.options.Clock.NewTimer(0)
	defer timer.Stop()
	var seen retry.Distinct
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C():
		case <-changed:
		}
		waits, err := s.synchronize(ctx, false)
		if !s.fallback.Load() {
			endFallback()
		}
		s.reportResult(ctx, err, &seen)
		timer.Reset(s.pause(waits, err))
	}
}

// withTimeout bounds one exchange with the API server. What is bounded as a whole would never end well where each
// of its parts is slow.
func (s *Source) withTimeout(ctx context.Context, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, s.options.AttemptTimeout)
	defer cancel()
	return f(bounded)
}

// reportResult counts and logs what went wrong, each thing once.
func (s *Source) reportResult(ctx context.Context, err error, seen *retry.Distinct) {
	switch {
	case err == nil:
		seen.Reset()
	case ctx.Err() != nil, s.fallback.Load() && errors.Is(err, errNotInstalled): // as it was at the start
	default:
		s.reloads.Count(certs.ReloadFailed)
		if seen.Add(err) {
			s.options.Log.Error(err, "what cert-manager issues could not be taken up; the last good certificate stays in use")
		}
	}
}

// pause is how long until everything is read again.
func (s *Source) pause(waits bool, err error) time.Duration {
	switch {
	case waits:
		return min(retryInterval, s.options.Interval)
	case s.fallback.Load():
		return min(fallbackInterval, s.options.Interval)
	case err != nil:
		return max(s.options.Interval/10, retryInterval)
	}
	return s.options.Interval
}

// runFallback runs the fallback, where it serves, until the answer is called or ctx ends.
func (s *Source) runFallback(ctx context.Context, running *sync.WaitGroup) context.CancelFunc {
	if !s.fallback.Load() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	running.Go(func() {
		err := panics.Try("certificates", func() error { return s.options.Fallback.Run(ctx) })
		if err != nil && ctx.Err() == nil {
			s.options.Log.Error(err, "the fallback has ended; its last certificate stays in use")
		}
	})
	return cancel
}

// watchSecret nudges changed whenever the watch tells of a Secret. It never gives up before ctx ends. A
// watch that the API server has ended in good order is taken up again soon: until then a bundle that
// another replica has added to would be published as it was.
func (s *Source) watchSecret(ctx context.Context, name string, changed chan<- struct{}) {
	var seen retry.Distinct
	for ctx.Err() == nil {
		err := follow.Object(ctx, s.secrets, name, changed)
		pause := min(retryInterval, s.options.Interval)
		if err != nil {
			pause = s.options.Interval
		}
		if err != nil && ctx.Err() == nil && seen.Add(err) {
			s.options.Log.Info("the Secret cannot be watched, so changes count only when it is next read",
				"secret", s.options.Namespace+"/"+name, "interval", s.options.Interval.String(), "reason", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-s.options.Clock.After(pause):
		}
	}
}
