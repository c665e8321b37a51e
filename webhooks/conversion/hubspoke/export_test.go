// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

// Quick and Thorough are the two ways, for the test that holds the kinds to them.
var (
	Quick    = (*Converter).quick
	Thorough = (*Converter).thorough
)
