// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translation names for the author of a v1alpha1 object the field that was written, where the rules report
// one of its v1 form. Messages and values stay those of v1.
//
// The rules know v1 alone. Admission and vet ask here, each with the object at v1. A field of v1 that v1alpha1 has no
// form of is never left out: the nearest field there is is named, with the field of v1 and what to do about it. The
// package converts nothing and judges nothing.
package translation
