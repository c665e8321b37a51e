// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

// SetDefault gives a field a value where it has none.
func SetDefault[T any](field **T, value T) {
	if *field == nil {
		given := value // which alone has to be kept
		*field = &given
	}
}
