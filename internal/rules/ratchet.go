// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "k8s.io/apimachinery/pkg/util/validation/field"

// Ratchet returns the errors of an object, and forgives those that its old one, which may be nil, has as well: an object
// older than a rule can still be edited towards valid. An error is the same when its field, type, value and text are.
func Ratchet[T any](obj, old *T, violations func(*T) field.ErrorList) field.ErrorList {
	now := violations(obj)
	if len(now) == 0 || old == nil {
		return now
	}
	before := violations(old)
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
