// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

// NewWarnings returns the warnings of an object that its old one, which may be nil, did not have: a warning
// that is repeated at every write is not read.
func NewWarnings[T any](obj, old *T, warnings func(*T) []string) []string {
	known := map[string]bool{}
	if old != nil {
		for _, text := range warnings(old) {
			known[text] = true
		}
	}
	var fresh []string
	for _, text := range warnings(obj) {
		if !known[text] {
			fresh = append(fresh, text)
		}
	}
	return fresh
}
