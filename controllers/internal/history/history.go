// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history keeps the records of what has ended in a status, the latest first.
package history

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Add returns a history with further records, the latest last, and at most limit in all. A limit out of bounds, as in an
// object that admission did not check, counts as the nearest one within.
func Add[T any](history []T, limit *int32, records ...T) []T {
	most := min(max(int(ptr.Deref(limit, rules.MaxHistory)), rules.MinHistory), rules.MaxHistory)
	if len(records) > 0 {
		slices.Reverse(records)
		history = append(records, history...)
	}
	return history[:min(len(history), most)]
}
