// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonindex reads a JSON text once, and records where every value in it begins and ends. So the objects
// of a review are found without copying them, their metadata travels as bytes, and what is changed about them
// is compared with the text itself.
//
// It never decodes an object. Stock handlers take 6.1 to 8.1 times the processor of ours for a conversion, and 3.1 to
// 5.6 times that of ours with go-json-experiment/json in place of this package's values and of jsoncodec
// (docs/decisions/conversion.md).
package jsonindex
