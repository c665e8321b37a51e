// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice holds the suite that plays ExternalService against servers outside: the
// shipped manifests on a real control plane, two replicas of the operator as processes under the
// shipped ServiceAccount, a real nameserver, and real servers with faults that are switched while
// everything runs.
//
// Every test has a namespace, names and addresses of its own, and asserts on what a user sees in
// the cluster and on what the servers outside saw. Tests that break the nameserver, or restart the
// operator, do not call t.Parallel; Go runs those first, one after the other. Nothing here imports
// the operator beyond its API types.
//
// Ring 2: what kube-proxy reaches shows only in slices that an API server has stored.
package externalservice
