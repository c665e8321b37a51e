// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod runs what ChaosPods describe: it kills pods that may die, and sees whether their
// workload survives it.
//
// A reconcile goes through the same steps each time. It finds the target's owners and their pods
// (owners.go, pods.go) or the canary (canary.go); it has package chaos decide, with the ledger of
// disruptions held (claims.go); it stores the status that follows upon exactly the one that was read,
// and only then acts (decide.go, actor.go) and stores what came of it.
//
// Whatever kills is decided twice: first from the cache, which says whether there is anything to do, and
// then from what the API server has at that moment. A status that is not known to be the one that is
// stored is never acted on, and what the API server cannot tell counts as unsafe. The status is the
// only memory that counts.
package chaospod
