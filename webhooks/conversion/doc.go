// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion answers the ConversionReviews of the API server on /convert, for every kind
// that its Registry knows.
//
// It holds no conversion itself, reads nothing but the request, and never answers for one object
// by dropping another: a review comes back whole or as one failure that names what failed. The API
// server has no retry and no failure policy for conversions, so a converter is expected to be
// total.
package conversion
