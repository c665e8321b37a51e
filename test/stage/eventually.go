// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"time"
)

// Eventually asks until the answer is nil, at most for the given time, and returns the last error.
func Eventually(ctx context.Context, within time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
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
		case <-ticker.C:
		}
	}
}
