// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workloadkinds has the kinds of workloads that a cluster need not have: Rollouts of Argo Rollouts, and those that the
// operator's configuration names in rebootPolicies.workloads, CronJobs and Jobs among them; and the statuses of the
// Secrets Store CSI driver, which are no
// workloads, and come and go alike (kinds.go). Of each there is an informer only while something asks for the kind and the API
// server serves it (watch.go).
package workloadkinds
