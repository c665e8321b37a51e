// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice is the admission of ExternalServices. webhook.go has the steps in order. authorize.go lists
// the rights that a writer needs, and addresses.go the addresses that may be published. service.go decides whose
// Service may be taken, and networkpolicy.go who may have a NetworkPolicy.
//
// It decides nothing that the rules of the kind (internal/rules/externalservice) or the egress policy (internal/egress)
// can decide.
package externalservice
