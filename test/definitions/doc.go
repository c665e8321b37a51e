// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definitions validates the CRDs and the admission policies as the API server of the oldest promised version of
// Kubernetes does, whose functions of CEL are fewer and whose estimate of what a CEL rule costs differs from today's. It is
// a module of its own: a module links one version of k8s.io/apiextensions-apiserver.
//
// Ring 3: it concerns the oldest API server alone.
package definitions
