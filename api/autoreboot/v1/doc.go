// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the RebootPolicy at v1, the hub and storage version of autoreboot.fairlead.dev.
// It carries types, limits and names alone: defaults, rules and conversion live elsewhere.
//
// +kubebuilder:object:generate=true
// +groupName=autoreboot.fairlead.dev
package v1
