// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review is what AdmissionReviews and ConversionReviews have in common as HTTP requests: a bounded
// body of JSON, the envelope around the objects, a deadline, and a refusal of what is no review at all.
//
// It has no code for one kind of review, and never decodes an object.
package review
