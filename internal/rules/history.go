// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "k8s.io/apimachinery/pkg/util/validation/field"

// The bounds of historyLimit, and its default. A history is never empty once something has ended: a status says what came of
// the latest.
const (
	MinHistory     = 1
	MaxHistory     = 50
	defaultHistory = 10
)

// HistoryLimit checks a historyLimit as the schema does.
func HistoryLimit(path Path, limit *int32) field.ErrorList {
	return OptionalRange(path, limit, MinHistory, MaxHistory)
}

// DefaultHistoryLimit sets a historyLimit that is absent.
func DefaultHistoryLimit(limit **int32) { SetDefault(limit, defaultHistory) }
