// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "k8s.io/apimachinery/pkg/util/validation/field"

// Ratchet forgives the errors of an update that stood in the stored object already, so that an
// object made before a rule existed can still be edited towards valid. An error is the same when
// its field, type, value and text are.
func Ratchet(now, before field.ErrorList) field.ErrorList {
	if len(now) == 0 || len(before) == 0 {
		return now
	}
	stood := make(map[string]int, len(before))
	for _, err := range before {
		stood[err.Error()]++
	}
	var fresh field.ErrorList
	for _, err := range now {
		if stood[err.Error()] > 0 {
			stood[err.Error()]--
			continue
		}
		fresh = append(fresh, err)
	}
	return fresh
}
