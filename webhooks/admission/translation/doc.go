// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translation words for the author of a v1alpha1 object what the rules report about its v1 form: by
// the field that was written, with the value that was written, in the words of v1alpha1.
//
// The rules know v1 alone. Admission and vet ask here, each with the object at both versions. A field
// of v1 that v1alpha1 has no form of is never passed over: the nearest field there is is named, with
// the field of v1 and what to do about it. The package converts nothing and judges nothing.
package translation
