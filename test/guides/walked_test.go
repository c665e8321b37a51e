// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !nightly

package guides

// walked are the pages whose steps are done: what a newcomer does first. leastSteps is how many these are at least.
var walked = []string{"README.md", "docs/guides/quick-start.md", "docs/guides/common-jobs.md"}

const leastSteps = 20
