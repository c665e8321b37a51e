// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/fairlead-dev/fairlead/api/common"

// SetDefault gives a field a value where it has none.
func SetDefault[T any](field **T, value T) {
	if *field == nil {
		given := value // which alone has to be kept
		*field = &given
	}
}

// DefaultGroup sets the group of workloads that have none.
func DefaultGroup(group *string) {
	if *group == "" {
		*group = common.AppsGroup
	}
}
