// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditiongate decides whether an object has the condition that a gate waits for.
//
// judge.go decides it from the object, and is pure. objects.go reads objects of kinds that the cache does not hold;
// package polling determines when.
//
// The package only reads objects, one at a time, and keeps none. Its messages contain the reason of a condition, and
// never its message.
package conditiongate
