// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire is what admission and conversion reviews have in common as HTTP requests: a bounded
// body of JSON, read without copying the objects inside it, a deadline, and a refusal for what is
// no review at all.
//
// It knows neither reviews nor kinds, and never decodes an object.
package wire
