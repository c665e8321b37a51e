// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/fairlead-dev/fairlead/api/common"

// SetDefault sets a field to a value if it is nil.
func SetDefault[T any](field **T, value T) {
	if *field == nil {
		given := value // a copy, so that nothing moves to the heap unless the field is nil
		*field = &given
	}
}

// DefaultGroup sets an empty group of workloads to apps.
func DefaultGroup(group *string) {
	if *group == "" {
		*group = common.AppsGroup
	}
}
