// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package guides

// walked is empty: the steps of every page are done. leastSteps is how many these are at least.
var walked []string

const leastSteps = 150
