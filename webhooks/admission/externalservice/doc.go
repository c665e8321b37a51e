// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice is the admission of ExternalServices: webhook.go has the steps in their order,
// authorize.go what a writer needs the right to, addresses.go which addresses may be published, service.go
// whose Service may be taken, and warnings.go what the caches show that a writer should know.
//
// It decides nothing by itself that the rules of the kind can decide (internal/rules/externalservice); what an
// address is, internal/egress decides.
package externalservice
