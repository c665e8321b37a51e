// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos decides about the runs of a ChaosPod. From the spec, the status, an observation and the time it
// returns the next status, the actions to do once that is stored, and when to decide again. The runs are a state
// machine, whose table of transitions is in state.go.
//
// Decide (decide.go) takes these steps, in this order: it records a new spec (decide.go) and the end of a halt (annotations.go),
// advances the run under way (victims.go, recovery.go, probes.go), starts a run that is due (decide.go, schedule.go, choose.go),
// maintains the canary (decide.go), and sets the conditions (conditions.go). Record (record.go) adds the results of
// actions; effects.go has what each transition changes, day.go the count of a day.
//
// A run with its victims is in the stored status.currentRun before any of them is killed: Decide returns kills only
// of victims in the status that it returns, and a pod that replaces another victim is stored in the same way first.
//
// The package is pure: it has no client, no clock and no goroutine, and keeps nothing between two calls. It never
// kills anything itself.
package chaos
