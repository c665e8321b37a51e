// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

// Quick and Thorough are the two ways, for the tests that hold the kinds to them, and what
// makes two answers the same.
var (
	Quick    = (*Converter).quick
	Thorough = (*Converter).thorough
	Meaning  = meaning
)
