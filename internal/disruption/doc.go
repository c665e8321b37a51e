// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package disruption is the ledger of everything in this process that disrupts a workload on purpose: one disruption
// per workload at a time, so many at once in a group of policies, and so many in the whole cluster. A holder that finds
// no room is woken once there is some: first one of the namespace that has the fewest slots, and among those the one
// that has waited longest.
//
// A disruption takes one of the cluster's slots. No namespace keeps more than its share of them for
// long: the slot of a disruption that does not end lapses, and is free for others, while the claim on
// the workload stays. Package-level constants say when.
//
// It lives in memory alone, and is rebuilt from what is in flight in the status of the objects. It
// never disrupts anything itself, and never takes a claim away from its holder.
package disruption
