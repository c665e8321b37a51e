// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Patience is how long an answer may take: at most limit, and at most what the API server says it will
// wait (the query parameter timeout, which it sends with every webhook call), less a tenth of that,
// so that the answer still reaches it.
func Patience(asked *url.URL, limit time.Duration) time.Duration {
	if patience, err := time.ParseDuration(parameter(asked, "timeout")); err == nil && patience > 0 {
		return min(limit, patience-patience/10)
	}
	return limit
}

// Deadline bounds a request's context by its Patience.
func Deadline(ctx context.Context, asked *url.URL, limit time.Duration) (context.Context, context.CancelFunc) {
	limit = Patience(asked, limit)
	return context.WithTimeoutCause(ctx, limit, TooLate(limit))
}

// parameter reads a query. One of a single plain parameter, as the API server writes it, costs no
// parsing.
func parameter(asked *url.URL, name string) string {
	if value, is := strings.CutPrefix(asked.RawQuery, name+"="); is && !strings.ContainsAny(value, "&;%+") {
		return value
	}
	return asked.Query().Get(name)
}

// TooLate is the error of what took longer than this. It says so once it is asked.
type TooLate time.Duration

func (limit TooLate) Error() string {
	return fmt.Sprintf("no time left to answer within %s: %v", time.Duration(limit), context.DeadlineExceeded)
}

// Unwrap is context.DeadlineExceeded.
func (TooLate) Unwrap() error { return context.DeadlineExceeded }
