// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart decides about the restarts of a RebootPolicy. From the spec, the status, an observation and the
// time it returns the next status, the actions to do once that is stored, and when to decide again. The restarts of
// one target are a state machine, whose table of transitions is in state.go.
//
// Decide (decide.go) takes these steps, in this order:
//
//  1. It ends the restarts of workloads that are gone, and updates baselines (decide.go, baselines.go).
//  2. It ends a halt for a user (decide.go).
//  3. It advances the restarts in flight (inflight.go), by what workload.go, pods.go, lost_pods.go and probes.go say. Times of the
//     status that are in the future were corrected before (clock.go).
//  4. It evaluates the triggers of all other targets (triggers.go), and what is new after a failure (correction.go).
//  5. It admits pending restarts, or returns why they wait (admit.go; rollouts.go for rollouts of others); one that needs a person
//     waits for approval.go.
//  6. It summarizes the status (status.go), and returns what is to be done.
//
// Record (record.go) adds the results of actions to the status. effects.go has what each transition changes.
//
// The package is pure: it has no client, no clock and no goroutine, and keeps nothing between two calls. It never
// restarts anything itself.
package restart
