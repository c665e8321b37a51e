// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package leaderelection

import "time"

// newElapsed returns Go's clock, which stands still on some systems while the machine sleeps: the next
// renewal finds out then.
func newElapsed() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
