// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads YAML and JSON as kubectl does, and remembers where everything stands.
//
// A plain scalar means what it means to kubectl, which speaks YAML 1.1: `off` is false and `0777` is
// 511. What kubectl would pass over in silence, such as a key that is given twice, is kept as a
// problem with its place.
//
// It knows no kind and judges no value, and no input makes it run away: the depth of a document and
// what its aliases expand to are bounded.
package manifest
