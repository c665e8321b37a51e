// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the RebootPolicy and the ClusterRebootPolicy at v1, the hub and storage version of
// autoreboot.fairlead.dev. It has types and constants only; defaults and rules are in internal/rules/rebootpolicy.
//
// +kubebuilder:object:generate=true
// +groupName=autoreboot.fairlead.dev
package v1
