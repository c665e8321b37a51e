// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package leaderelection

import "time"

// newElapsed returns Go's clock, which on some systems stops while the machine sleeps: the next renewal
// finds out then.
func newElapsed() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
