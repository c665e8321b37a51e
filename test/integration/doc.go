// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration holds the suite that plays Fairlead as its users meet it: the shipped
// manifests on a real control plane, two replicas of the real binary under the shipped
// ServiceAccount, and kubectl.
//
// Every test has a namespace of its own and asserts on what a user sees there: objects,
// conditions, events, kubectl's own words. Tests that others would disturb do not call t.Parallel;
// Go runs those first, one after the other. Nothing here imports the operator beyond its API types.
//
// Ring 2: admission, conversion and rights are what the API server makes of them. Commands that only read are in ring 3.
package integration
