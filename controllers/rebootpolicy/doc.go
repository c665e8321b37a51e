// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy restarts the workloads that RebootPolicies select: once for each change, only when
// every gate, window and limit admits it, and with a verification that the workload is available again.
//
// Package restart is the decider, which is pure; the files here are the shell around it. A file uses those below it
// in this list alone:
//
//   - controller.go constructs the controller and its watches; a policy is reconciled again when anything that it read
//     changes.
//   - reconcile.go has the steps of a reconcile in their order: observe, decide, act, record.
//   - observe.go validates the policy and its approval, and reads the world into an observation: the workloads
//     (targets.go) and their pods (pods.go), what holds restarts (gates.go; package conditiongate has the conditions of objects, and promquery the queries), and what each trigger sees of each workload
//     (signals.go and the files of that name; source_refs.go has which ConfigMaps and Secrets are observed).
//   - decide.go has the decider decide while the ledger of disruptions is locked. Where a restart is about to start,
//     required_sources.go looks for the ConfigMaps and Secrets that its pods need, and pod_order.go for its pods.
//   - act.go acts on the workloads, once the status that was decided is stored: by annotations, with those of Reloader
//     (reloaded.go), a pause of the rollout (pause.go), evictions, and the Jobs of CronJobs and Jobs (batch.go).
//   - record.go writes the status, with its conditions (conditions.go), and then events; metrics.go counts.
//   - observation.go has what one reconcile has read, watchset.go what a policy watches, and cache.go what the cache
//     holds.
//   - state.go and memory.go have what the process remembers of policies, nodes and pods.
//
// The status is the only state that counts: what a process remembers besides saves requests, and can be lost without a
// restart too many or too few. Before anything is done to a workload, the stored status is either the one that was just
// written or is read from the API server. An error of an action does not keep the results of others out of the status. A read
// that fails ends no reconcile: what it leaves unknown stays as it is, and holds what depends on it alone.
//
// The package changes two annotations of a workload's pod template, by server-side apply under its own field
// owner, and requests evictions. It never deletes a pod, never takes back an annotation that another writer
// removed, writes nothing where nothing changed, and puts nothing of a ConfigMap or Secret into a status, an
// event or a metric except keyed fingerprints and the expiry of a certificate.
package rebootpolicy
