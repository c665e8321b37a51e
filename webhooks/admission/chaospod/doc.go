// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaospod is the admission of ChaosPods. webhook.go has the steps in order. authorize.go lists the rights that
// a writer needs. template.go tests the pod of a template by a dry run, and warnings.go warns of what the caches show.
//
// It decides nothing that the rules of the kind can decide (internal/rules/chaospod).
package chaospod
