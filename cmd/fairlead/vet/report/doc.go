// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report writes what a check of manifests found: as text for people, and as JSON, SARIF and
// JUnit for what they build with. The same input gives the same bytes: there is no time and no
// random number in them.
//
// It never changes a finding, and only leaves out those that its options exclude.
package report
