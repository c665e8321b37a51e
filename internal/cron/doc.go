// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule is the one place that knows when a cron expression fires and when a window is
// open, over clock changes too. It reads expressions in a time zone, finds their firings ahead and
// behind, and lays windows and blackouts into a Calendar.
//
// All of it follows one rule: a local time belongs to the first instant at which the clock on the
// wall shows that time or a later one. So a time that the clock skips falls on the instant after
// the gap, a time that comes twice counts when it first comes, and no local time counts twice.
//
// The package has no clock of its own: every question about time carries the moment it is asked
// for. It never starts anything, keeps no state between questions, and never guesses at a broken
// window: that is an error.
package cron
