// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subject is the operator as benchmarks measure it, a process whose metrics and profiles are
// read while it works, and the steps that a benchmark goes through with it. It measures nothing itself.
package subject
