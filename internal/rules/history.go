// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

// The bounds of historyLimit, and its default. The minimum is above zero, so that a status always has the latest
// result.
const (
	MinHistory     = 1
	MaxHistory     = 50
	defaultHistory = 10
)

// DefaultHistoryLimit sets a historyLimit that is absent.
func DefaultHistoryLimit(limit **int32) { SetDefault(limit, defaultHistory) }
