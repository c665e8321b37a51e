// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds ChaosPod at its first version: one pod template, and the time at which
// the pod next stops. It is served beside v1, converts to it without loss, and grows no further.
//
// +kubebuilder:object:generate=true
// +groupName=chaos.fairlead.dev
package v1alpha1
