// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// withTimeout runs a request for at most a limit by the clock. It returns at the limit even where the
// request does not heed its context: the election must not hang with a connection.
func withTimeout[T any](ctx context.Context, by clock.Clock, limit time.Duration, request func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		var got answer
		got.err = panics.Try("election", func() (err error) {
			got.value, err = request(ctx)
			return err
		})
		answers <- got
	}()
	timer := by.NewTimer(limit)
	defer timer.Stop()
	var none T
	select {
	case got := <-answers:
		return got.value, got.err
	case <-timer.C():
		return none, fmt.Errorf("no answer from the API server within %s", limit)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// recoverPanic runs the work and returns a panic as an error, so that the Lease is released.
func recoverPanic(ctx context.Context, work func(context.Context) error) error {
	return panics.Try("leading", func() error { return work(ctx) })
}

// resetTimer sets a timer again whether or not it has fired.
func resetTimer(timer clock.Timer, d time.Duration) {
	if !timer.Stop() {
		select {
		case <-timer.C():
		default:
		}
	}
	timer.Reset(d)
}
