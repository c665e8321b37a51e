// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package floor makes the ValidatingAdmissionPolicies of config/admission-policy: what the API server
// itself refuses, whether or not the webhooks are asked. It derives the rules of the stored version
// from the definitions, adds those on names, marks and rights that CEL can say, and evaluates policies
// without a cluster, for tests that hold them to the rules in Go.
//
// A policy never refuses what the webhooks accept (but for the rights that a ChaosPod takes, about which
// no webhook asks), never looks at a delete, a status or an object that
// is being deleted, and forgives what stood before. This package never installs anything.
package admissionpolicy
