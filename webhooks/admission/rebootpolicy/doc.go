// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy is the admission of RebootPolicies. webhook.go has the steps in order. authorize.go and needs.go
// list the rights that a writer needs, and approvals.go those to approve a restart or to remove the gate that waits for it.
// hosts.go lists the addresses that a probe may name. warnings.go warns of what the caches show. cluster.go is the
// admission of ClusterRebootPolicies, by the same needs.
//
// It decides nothing that the rules of the kind can decide (internal/rules/rebootpolicy).
package rebootpolicy
