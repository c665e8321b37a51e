// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds ChaosPod at its hub and storage version: pods that die on purpose, to prove
// that their workload survives it. It holds types and constants only; defaults and rules are in
// internal/rules/chaospod.
//
// +kubebuilder:object:generate=true
// +groupName=chaos.fairlead.dev
package v1
