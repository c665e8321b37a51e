// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice holds the rules of the kind ExternalService at v1: its defaults, and what its schema and CEL
// cannot say. Admission, the reconciler and offline tools call the same functions.
//
// All functions are pure. They read the spec, the annotations and the name. The egress policy decides whether an
// address may be reached.
package externalservice
