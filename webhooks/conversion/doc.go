// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion is the conversion webhook: it responds to the ConversionReviews that the API server sends to
// /convert. internal/spelling has the fields that the versions spell differently.
//
// A ConversionReview passes these files:
//
//  1. webhooks/server/handler.go: the memory that the request may take, and the path.
//  2. handler.go: the bounds of the work, and the review as a whole: it succeeds, or fails with the names of objects.
//  3. review.go: the request and the response, with webhooks/internal/review, body.go: the body.
//  4. routes.go: from which version to which.
//  5. internal/spelling, convert.go: Table.Convert moves values within the text, by the Table of the kind in table.go.
//
// No kind has a ConvertTo or a ConvertFrom: Table.Convert is the one function for all kinds, in both directions.
//
// failure.go identifies an object that could not be converted, and failures.go writes an Event about it.
//
// It reads nothing but the request. It never drops one object to return the others: a review succeeds as a whole, or
// fails with the names of the objects that failed. The API server has no retry and no failure policy for conversions,
// so every stored object has to convert.
package conversion
