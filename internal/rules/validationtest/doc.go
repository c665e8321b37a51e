// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validationtest compares, for tests, what decides whether an object is valid: the schema and the CEL rules of a
// CRD, and Structural of the kind, which repeats them in Go. On a new object, and on an update of a valid one, both must
// agree. An update of an object that is invalid already is forgiven what it broke before, which the CRD does otherwise.
//
// A Mutator makes the objects from good ones and the schema, on both sides of every limit. Bytes decide
// what it makes, so that a fuzzer can steer it and a counted run can draw it.
//
// No program uses it.
package validationtest
