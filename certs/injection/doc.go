// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package injection brings the CA bundle to those who must trust the webhook server: into every
// webhook of the mutating and validating configurations, and into the conversion of the CRDs.
//
// It writes by server-side apply under a field owner of its own that owns caBundle and nothing
// else, so that manifests which leave caBundle out and the tools that apply them are never in its way
// (kubernetes/kubernetes#108081). It reads first and writes only what differs: each write of a
// CRD's caBundle closes all watches of the kind and makes the API server convert every stored
// object again. It reads again after writing, and is content only with what it sees there.
//
// The package never creates a target, never writes a bundle that is empty or does not parse
// (kubernetes/kubernetes#123835), and takes no caBundle away from another owner unless told to.
//
// It needs get, patch and watch on the targets by name, and no list.
package injection
