// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditiongate finds out whether an object has the condition that a gate waits for.
//
// judge.go decides it from the object, and is pure. objects.go reads the objects of kinds that the cache does not hold; package polling
// has when.
//
// The package only gets objects, one by one, and keeps none. A message has the reason of a condition, and never its message.
package conditiongate
