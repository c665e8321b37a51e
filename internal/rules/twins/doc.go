// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package twins compares, for tests, those who judge the same object: the schema and CEL rules of a
// definition, their twin in Go, and the ValidatingAdmissionPolicy that is derived from the definition.
// On a new object, and on an update of a valid one, all three must say the same. An update of an object
// that is invalid already is forgiven what stood, and there the policy must accept whatever Go does.
//
// It decides nothing about objects, and no program uses it.
package twins
