// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the first, flat form of the networking group: a list of hosts whose order
// is the order of failover. It is served beside v1, which is stored; webhooks/conversion converts
// between them. It holds types, markers and names, and has no defaults of its own: those of v1
// apply.
//
// +kubebuilder:object:generate=true
// +groupName=networking.fairlead.dev
package v1alpha1
