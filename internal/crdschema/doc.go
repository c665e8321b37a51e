// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdschema evaluates a CustomResourceDefinition without a cluster: defaults, pruning, OpenAPI
// validation, list types and CEL, with the same libraries and in the same order as the API server. kind.go
// compiles a CRD, object.go applies it to objects. Manifests are checked with it before they are sent, and tests compare the
// versions of a kind.
//
// It never connects to a cluster, never converts between versions, and has no kind but that of the CRD it is
// given.
package crdschema
