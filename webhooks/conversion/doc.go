// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion is the conversion webhook: it responds to the ConversionReviews that the API server sends
// to /convert. What the versions spell differently is in internal/spelling.
//
// A ConversionReview passes handler.go (the bounds of the work), review.go (the request and the
// response), routes.go (from which version to which), and internal/spelling, convert.go and table.go. failure.go
// identifies an object that could not be converted, and failures.go reports it.
//
// It reads nothing but the request, and never drops one object to return the others: a review comes back whole
// or as one failure that names what failed. The API server has no retry and no failure policy for conversions,
// so every object that it stores has to convert.
package conversion
