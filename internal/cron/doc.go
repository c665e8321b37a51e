// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cron computes when a cron expression fires and when a window is open, also over clock changes.
// schedule.go parses expressions into fields.go and finds firings in a time zone (clock.go); window.go and
// blackout.go lay windows and blackouts into a Calendar (calendar.go).
//
// One rule applies everywhere: a local time belongs to the first instant at which the local clock shows that
// time or a later one. So a time that the clock skips falls on the instant after the gap, a time that occurs
// twice counts the first time, and no local time counts twice.
//
// The package has no clock of its own: each function takes the time. It starts nothing, keeps no state, and
// returns an error for an invalid window.
package cron
