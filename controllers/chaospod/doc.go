// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod runs what ChaosPods describe: it kills pods that may be killed, and verifies that their
// workloads recover.
//
// A reconcile takes these steps, in this order:
//
//  1. reconcile.go reads the ChaosPod, validates it and its approval, and runs the steps below.
//  2. observe.go finds the target's workloads and their pods, or the canary; view.go reads them, from the cache or
//     from the API server.
//  3. decide.go has package chaos decide, while the ledger of disruptions is locked, and writes the status that
//     was decided; events.go writes events about it.
//  4. actor.go acts on the pods, and the results go into the status.
//
// watches.go has a ChaosPod reconciled again when anything that it read changes.
//
// A decision that kills is made twice: from the cache, which shows whether there is anything to do, and then from
// the API server. Before anything is killed, the stored status is either the one that was just written or is read
// from the API server; what the API server does not return counts as unsafe. The status is the only state that
// counts. The package never kills a pod that the stored status does not name as a victim.
package chaospod
