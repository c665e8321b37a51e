// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy is the admission of RebootPolicies. webhook.go has the steps in order. authorize.go and needs.go
// list the rights that a writer needs, and hosts.go the addresses that a probe may name. warnings.go warns of what the
// caches show.
//
// It decides nothing that the rules of the kind can decide (internal/rules/rebootpolicy).
package rebootpolicy
