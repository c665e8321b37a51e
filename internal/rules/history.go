// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

// The bounds of historyLimit, and its default. A history is never empty once something has ended: a status says what came of
// the latest.
const (
	MinHistory     = 1
	MaxHistory     = 50
	defaultHistory = 10
)

// DefaultHistoryLimit sets a historyLimit that is absent.
func DefaultHistoryLimit(limit **int32) { SetDefault(limit, defaultHistory) }
