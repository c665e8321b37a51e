// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod is the admission of ChaosPods: webhook.go has the steps in their order, authorize.go
// what a writer needs the right to, template.go whether the API server takes the pod of a template, warnings.go what the caches show
// that a writer should know.
//
// It decides nothing by itself that the rules of the kind can decide (internal/rules/chaospod).
package chaospod
