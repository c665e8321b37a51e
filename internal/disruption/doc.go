// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package disruption is the ledger of everything in this process that disrupts a workload on
// purpose: one disruption per workload at a time, so many at once in a group of policies, and so
// many in the whole cluster. Who finds no room is woken, in turn, once there is some.
//
// It lives in memory alone, and is rebuilt from what is in flight in the status of the objects. It
// never disrupts anything itself, and never takes a claim away from its holder.
package disruption
