// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 is the hub and storage version of the networking group: ExternalService, something
// outside the cluster published as a Service with health-checked EndpointSlices. It holds types,
// markers and names, and no behavior: defaults and rules are in
// internal/rules/externalservice.
//
// +kubebuilder:object:generate=true
// +groupName=networking.fairlead.dev
package v1
