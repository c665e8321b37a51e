// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "k8s.io/apimachinery/pkg/util/validation/field"

// Ratchet returns the errors of an object that its old object, which may be nil, does not have. An object that is older
// than a rule can thus be edited step by step until it is valid. Errors are equal if their field, type, value and text
// are.
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
