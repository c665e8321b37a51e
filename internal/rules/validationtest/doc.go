// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validationtest compares, for tests, what decides whether an object is valid: the schema and the
// CEL rules of a CRD, Structural of the kind, which repeats them in Go, and the
// ValidatingAdmissionPolicy that is derived from the CRD. On a new object, and on an update of a
// valid one, all three must agree. An update of an object that is invalid already is forgiven what it
// broke before, and there the policy must accept whatever Go accepts.
//
// A Mutator makes the objects from good ones and the schema, on both sides of every limit. Bytes decide
// what it makes, so that a fuzzer can steer it and a counted run can draw it.
//
// No program uses it.
package validationtest
