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
//     (targets.go) and their pods (pods.go), what holds restarts (gates.go; package conditiongate has the conditions of
//     objects, and promquery the queries), and what each trigger sees of each workload (signals.go and the files of that
//     name; source_refs.go has which ConfigMaps and Secrets are observed).
//   - decide.go has the decider decide while the ledger of disruptions is locked. Where a restart is about to start,
//     required_sources.go looks for the ConfigMaps and Secrets that its pods need, and pod_order.go for its pods.
//   - act.go acts on the workloads, once the status that was decided is stored: by annotations, with those of Reloader
//     (reloaded.go), a pause of the rollout (pause.go), evictions, and the Jobs of CronJobs and Jobs (batch.go).
//   - record.go writes the status, with its conditions (conditions.go), and then events; metrics.go counts.
//   - verification.go has the requests of verification.probes sent while a restart is in flight.
//   - observation.go has what one reconcile has read, watchset.go what a policy watches, and cache.go what the cache
//     holds.
//   - state.go and memory.go have what the process remembers of policies, nodes and pods.
//   - forecast.go says what a change would restart, for fairlead what-if. rights.go declares the rights of the operator.
//
// # One restart
//
// From a changed Secret to the verdict takes several reconciles, and these files:
//
//  1. sources/watch.go: an event marks the Secret as changed, and enqueues the policies that observe it (Notify).
//  2. signals_source.go: the Secret is read (sources/observe.go), and each workload gets a signal with its fingerprint.
//  3. restart/baselines.go and triggers.go: the fingerprint differs from the baseline in the status, so the target fires.
//  4. restart/admit.go: the first check that applies holds the restart, such as a debounce or a gate. If none does, it is planned.
//  5. decide.go: the status with the planned restart is stored. Nothing is done to a workload before that.
//  6. act.go: annotate applies the restart's id to the pod template of the Deployment.
//  7. restart/inflight.go: new pods that are available begin the soak. Its end is the event Verified, and a timeout is Failed.
//  8. restart/effects.go: the verdict goes to the history. record.go stores it, and writes the events.
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
