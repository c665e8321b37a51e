// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion is the conversion webhook: it responds to the ConversionReviews that the API server sends
// to /convert. The conversions themselves are in packages below it, one for each kind, on package hubspoke.
//
// A ConversionReview passes handler.go (the bounds of the work, and panics), review.go (the request and the
// response), routes.go (which converter, from which version to which), and hubspoke with the converter of the
// kind. failure.go identifies an object that could not be converted, and failures.go reports it.
//
// It reads nothing but the request, and never drops one object to return the others: a review comes back whole
// or as one failure that names what failed. The API server has no retry and no failure policy for conversions,
// so a converter must convert every object.
package conversion
