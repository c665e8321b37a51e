// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the ChaosPod at v1, the hub and storage version of chaos.fairlead.dev. A ChaosPod kills pods on
// purpose, to prove that their workload survives it. The package has types and constants only; defaults and rules are
// in internal/rules/chaospod.
//
// +kubebuilder:object:generate=true
// +groupName=chaos.fairlead.dev
package v1
