// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the RebootPolicy as it began: one target, and probes alone. It is served
// beside v1, which stores it; what it cannot say of a v1 object travels in an annotation, and so
// does what v1 cannot say of it.
//
// +kubebuilder:object:generate=true
// +groupName=autoreboot.fairlead.dev
package v1alpha1
