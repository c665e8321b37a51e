// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart decides about restarts: given a RebootPolicy's spec, its status, what was observed
// and the time, it says what to do now, when to look again and why not yet. The life of one restart
// is a state machine whose states and transitions stand in one table.
//
// It is pure: no client, no clock, no goroutine, and nothing is remembered between two calls but
// what the status holds. It never restarts anything itself.
package restart
