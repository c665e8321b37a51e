// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos decides about the runs of a ChaosPod: given its spec, its status, what was observed and
// the time, it says whether a run is due, which pods die, whether the target has recovered, what to do
// now, when to look again and why not yet. The life of a run is a state machine whose states and
// transitions are in one table.
//
// One rule comes before all others: the run with its victims is in status.currentRun before any of them
// dies. Decide returns the status to store, and the kills that it names, which are done only once that
// status is stored. A pod that takes the place of another is in a later status, stored before its kill
// in the same way.
//
// The package is pure: no client, no clock, no goroutine, and nothing is remembered between two calls
// except what the status holds. It never kills anything itself.
package chaos
