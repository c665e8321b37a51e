// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalservice holds the rules of the kind ExternalService at v1: its defaults, those
// of its CRD's schema and CEL in Go, and what those cannot say. Admission, the reconciler and
// offline tools call the same functions, because the schema alone is no guard: it is checked only
// at the version of a request, and never on what conversion makes of it.
//
// Everything here is pure and looks at the spec and the name, never at the status. Whether an
// address is allowed to be reached at all is the egress policy's to say.
package externalservice
