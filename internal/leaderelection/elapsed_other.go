// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package leaderelection

import "time"

// newElapsed returns Go's clock. On some systems it stops while the machine sleeps: this replica then learns of a lost
// Lease at its next renewal.
func newElapsed() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
