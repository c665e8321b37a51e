// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy restarts the workloads that RebootPolicies select: once for each change, only when
// every gate, window and limit admits it, and with a verification that the workload is available again.
//
// A reconcile takes these steps, in this order:
//
//  1. reconcile.go reads the policy, validates it and its approval, and runs the steps below.
//  2. targets.go finds the workloads, pods.go their pods.
//  3. gates.go reads the gates and what else holds restarts, times.go windows and blackouts.
//  4. signals.go, signals_endpoints.go and signals_source.go read what each trigger sees of each workload.
//  5. decide.go has package restart decide, while the ledger of disruptions is locked. Where a restart is
//     about to start, required_sources.go looks for the ConfigMaps and Secrets that its pods need.
//  6. status.go writes the status that was decided, with its conditions (conditions.go), and then events.
//  7. actor.go acts on the workloads, and records the results in the status.
//
// watches.go has a policy reconciled again when anything that it read changes.
//
// The status is the only state that counts: what a process remembers besides (observation.go) saves requests,
// and can be lost without a restart too many or too few. Before anything is done to a workload, the stored
// status is either the one that was just written or is read from the API server.
//
// The package changes two annotations of a workload's pod template, by server-side apply under its own field
// owner, and requests evictions. It never deletes a pod, never takes back an annotation that another writer
// removed, writes nothing where nothing changed, and puts nothing of a ConfigMap or Secret into a status, an
// event or a metric except keyed fingerprints and the expiry of a certificate.
package rebootpolicy
