// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod runs what ChaosPods describe: it kills pods that may be killed, and verifies that their
// workloads recover.
//
// Package chaos is the decider, which is pure; the files here are the shell around it. A file uses those below it in
// this list alone:
//
//   - controller.go constructs the controller and its watches; a ChaosPod is reconciled again when anything that it read
//     changes.
//   - reconcile.go has the steps of a reconcile in their order: restore what another writer removed of the status,
//     observe and decide, act, record.
//   - decide.go has the decider decide while the ledger of disruptions is locked.
//   - observe.go validates the ChaosPod and its approval, and finds the target's workloads and their pods, or the canary;
//     view.go reads them, from the cache or from the API server.
//   - verification.go has the requests of verification.probes sent, by package clientprobe.
//   - act.go acts on the pods, once the status that was decided is stored.
//   - record.go writes the status, and then events; metrics.go counts.
//   - state.go has what one reconcile has read, what the ChaosPod watches, and what the process remembers.
//
// A decision that kills is made twice: from the cache, which shows whether there is anything to do, and then from
// the API server. Before anything is killed, the stored status is either the one that was just written or is read
// from the API server; what the API server does not return counts as unsafe. The status is the only state that
// counts. The package never kills a pod that the stored status does not name as a victim.
package chaospod
