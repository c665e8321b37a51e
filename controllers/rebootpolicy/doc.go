// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy restarts what RebootPolicies name: once for each change, when it may, and not
// without proof that the workload came back.
//
// A reconcile goes through the same steps each time. It finds the workloads and their pods
// (targets.go, workload.go, pods.go), what each trigger sees of them (signals*.go), which gates are
// closed (gates.go) and what the calendar says (calendar.go); it has package restart decide, with the
// ledger of disruptions held (claims.go); it stores the status that follows upon exactly the one that
// was read, and only then acts (decide.go, actor.go) and stores what came of it. Conditions, events
// and metrics follow from the status (conditions.go, events.go, metrics.go).
//
// The status is the only memory that counts. What this process remembers beside it saves work, and is
// lost without a restart too many or too few. A status that is not known to be the one that stands is
// never acted on: it was just written upon its version, or is read live before.
//
// The package changes nothing of a workload but two annotations on its pod template, by server-side
// apply under a field owner of its own, and never deletes a pod: it asks for evictions. It never
// fights over an annotation, writes nothing while nothing has changed, and puts nothing of a ConfigMap
// or Secret into a status, an event or a metric but keyed fingerprints and the time at which a
// certificate ends.
package rebootpolicy
