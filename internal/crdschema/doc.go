// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdschema runs a CustomResourceDefinition's own rules without a cluster: schema
// defaults, pruning, OpenAPI validation, list types and CEL, built from the same libraries and in
// the same order as the API server applies them. It returns what a cluster would answer to an
// object, so that a rule written in Go can be compared with the same rule in the CRD, and a manifest
// can be checked before it is sent.
//
// It never talks to a cluster, never converts between versions, and knows no kind: whatever it
// says about an object stands in the CRD it was given.
package crdschema
