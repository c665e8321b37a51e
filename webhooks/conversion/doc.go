// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion is the conversion webhook: it responds to the ConversionReviews that the API server sends
// to /convert. What the versions spell differently is in internal/spelling.
//
// A ConversionReview passes these files:
//
//  1. webhooks/server/handler.go: the memory that the request may take, and the path.
//  2. handler.go: the bounds of the work, and the review as a whole: it succeeds, or fails with the names of objects.
//  3. review.go: the request and the response.
//  4. routes.go: from which version to which.
//  5. internal/spelling, convert.go: values are moved within the text, by table.go.
//
// failure.go identifies an object that could not be converted, and failures.go reports it.
//
// It reads nothing but the request, and never drops one object to return the others: a review comes back whole
// or as one failure that names what failed. The API server has no retry and no failure policy for conversions,
// so every object that it stores has to convert.
package conversion
