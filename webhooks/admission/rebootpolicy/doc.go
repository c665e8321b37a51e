// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy is the admission of RebootPolicies: webhook.go has the steps in their order,
// authorize.go and needs.go what a writer needs the right to, hosts.go which addresses a probe may name, and
// warnings.go what the caches show that a writer should know.
//
// It decides nothing by itself that the rules of the kind can decide (internal/rules/rebootpolicy).
package rebootpolicy
