// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package injection writes the CA bundle into the objects that API servers read it from: every webhook of
// the mutating and validating webhook configurations, and the conversion of the CRDs.
//
// The steps for one target: inject.go reads it, decide.go compares it with the bundle and the field
// managers, budget.go allows the write, inject.go applies it and reads the target again. run.go repeats
// that on changes and at an interval; health.go reports the targets that lack the bundle, and published.go what the
// targets trust by the operator.
//
// It writes by server-side apply with a field manager that owns caBundle and nothing else, so that manifests
// without caBundle never conflict with it (kubernetes/kubernetes#108081). It writes only what differs: each
// write of a CRD's caBundle closes all watches of the kind and makes the API server convert every stored
// object again.
//
// The package never creates a target, never writes a bundle that is empty or invalid
// (kubernetes/kubernetes#123835), and never overwrites the caBundle of another field manager.
//
// It needs get, patch and watch on the targets by name, and no list.
package injection
