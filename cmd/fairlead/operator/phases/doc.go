// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package phases records how the operator starts: which phases there are, in which order, how
// long each took and what it is waiting for. Every phase is a line in the log, a metric and a row
// on /statusz, so that it is visible where a start hangs.
//
// The order is the design. A webhook server that waits for a cache deadlocks with a cache that
// needs the webhook server to convert what it lists (kubernetes-sigs/controller-runtime#1685,
// #2322), so everything that webhooks need comes before everything that needs webhooks.
//
// The package never runs anything in the background and never decides what happens after a
// failure: it records what cmd/fairlead/operator does.
package phases
