// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admissionpolicy generates the ValidatingAdmissionPolicies of config/admission-policy: what the API server
// itself refuses, whether or not the webhooks are asked. It derives the rules of the stored version
// from the CRDs, adds those on names, annotations and rights that CEL can say, and evaluates policies
// without a cluster, for tests that hold them to the rules in Go.
//
// A policy never refuses what the webhooks accept, never evaluates a delete, a status or an object that
// is being deleted, and accepts what is stored already. This package installs nothing.
package admissionpolicy
