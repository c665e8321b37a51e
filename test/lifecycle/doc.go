// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle tests how Fairlead starts, is configured, is elected, drains and stops, with
// real processes of the operator on a real control plane: what is wrong with its input, its
// certificates, its Lease or its API server, and what a user then sees of it.
//
// It knows of the operator what the API server, the probes, the metrics, the log and the exit code
// say, and never looks inside. What Fairlead does with objects is tested in test/integration.
//
// Ring 2, since no unit test sees a deadlock of caches and conversion, a lost Lease or a lost request. What is wrong with flags,
// configuration and the path to the API server is in ring 3.
package lifecycle
