// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice holds the rules of the kind ExternalService at v1: its defaults, and what its schema and CEL
// cannot say. Admission, the reconciler and offline tools call the same functions.
//
// Everything here is pure and looks at the spec and the name, never at the status. Whether an
// address is allowed to be reached at all is the egress policy's to say.
package externalservice
