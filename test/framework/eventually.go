// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"time"
)

const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// Eventually asks until the answer is nil, at most for the given time, and returns the last error. To ask
// may cost a process or a long list: the longer it has waited, the longer it pauses.
func Eventually(ctx context.Context, within time.Duration, ask func(context.Context) error) error {
	return eventually(ctx, within, shortestPause, longestPause, ask)
}

func eventually(ctx context.Context, within, shortest, longest time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	began := time.Now()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", within, last)
		case <-time.After(min(max(shortest, time.Since(began)/10), longest)):
		}
	}
}
