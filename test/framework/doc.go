// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package framework sets Fairlead up the way a platform team would: the shipped manifests on a real
// control plane, and replicas of the real binary as processes, under the shipped ServiceAccount and
// its roles, behind one webhook Service. `make run`, `make demo` and the suites all run on it.
//
// Tests holds the resources that the tests of a suite share, and closes them at their end. Test holds those of one test: a namespace,
// kubectl, a client, and conditions that are waited for.
//
// It never reaches into the operator: what it knows, it has from the API server, the probes and
// the log.
//
// Ring 3: its tests are of a tool of the suites, which fail where it does.
package framework
