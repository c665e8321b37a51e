// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster checks the objects that a cluster has stored, by the rules that package vet applies to
// files, and whether the API server can read each of them at every version that it serves.
//
// It gets and lists, and never writes. It asks nothing of the operator, which need not run. One object
// that cannot be converted fails a LIST of all: such objects are found by asking for each by its name.
package cluster
