// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds RebootPolicy and ClusterRebootPolicy at their first version. It has the fields of v1, which is
// stored, with one under another name; internal/spelling lists it. The nested types are those of v1, with their rules.
//
// A field that is added to a spec of v1 is added here too, with its name and its rules: a test compares the two schemas.
//
// +kubebuilder:object:generate=true
// +groupName=autoreboot.fairlead.dev
package v1alpha1
