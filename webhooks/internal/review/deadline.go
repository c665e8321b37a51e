// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// Timeout is how long an answer may take: at most limit, and at most what the API server
// waits (the query parameter timeout, which it sends with every webhook call), less a tenth of that,
// so that the answer still reaches it.
func Timeout(asked *url.URL, limit time.Duration) time.Duration {
	if patience, err := time.ParseDuration(asked.Query().Get("timeout")); err == nil && patience > 0 {
		return min(limit, patience-patience/10)
	}
	return limit
}

// WithTimeout bounds a request's context by its Timeout.
func WithTimeout(ctx context.Context, asked *url.URL, limit time.Duration) (context.Context, context.CancelFunc) {
	limit = Timeout(asked, limit)
	return context.WithTimeoutCause(ctx, limit, TimeoutError(limit))
}

// TimeoutError reports work that took longer than this. Error formats it only when it is called.
type TimeoutError time.Duration

func (limit TimeoutError) Error() string {
	return fmt.Sprintf("no time left to answer within %s: %v", time.Duration(limit), context.DeadlineExceeded)
}

// Unwrap is context.DeadlineExceeded.
func (TimeoutError) Unwrap() error { return context.DeadlineExceeded }
