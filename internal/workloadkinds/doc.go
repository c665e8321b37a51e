// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workloadkinds has the kinds of workloads: a row for each that Fairlead knows (rows.go), and those that the operator's
// configuration names in rebootPolicies.workloads, CronJobs and Jobs among them. The statuses of the Secrets Store CSI driver are
// no workloads, and come and go as optional kinds do (kinds.go).
//
// A cluster need not have Rollouts, these statuses and the kinds of the configuration. Each has an informer only while something
// asks for the kind and the API server serves it (watch.go).
package workloadkinds
