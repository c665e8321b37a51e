// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxItems is how many items a list of a spec may have by its schema, except in pod templates. The API server refuses
// more before it calls a webhook. Other clients may call a webhook too: this bounds the cost.
const MaxItems = 100

// TooMany refuses a list of more than MaxItems.
func TooMany(path Path, n int) field.ErrorList {
	if n <= MaxItems {
		return nil
	}
	return field.ErrorList{field.TooMany(path.Field(), n, MaxItems)}
}

// Within returns at most the first MaxItems items of a list.
func Within[T any](list []T) []T { return list[:min(len(list), MaxItems)] }

// Some refuses an empty list that must have items. The API server does so as well. A CRD of another release may name
// the list differently: a stored object then reads as if the list were empty. Nothing may be removed for that.
func Some(path Path, n int) field.ErrorList {
	if n > 0 {
		return nil
	}
	return field.ErrorList{field.Required(path.Field(), "at least one item is needed")}
}

// Known refuses a value that this release does not know, for a field on which its actions depend. The CRD in the
// cluster may be of a later release. A nil value is accepted: the schema requires it, or it has a default.
func Known[T ~string](path Path, value *T, known ...T) field.ErrorList {
	if value == nil || *value == "" || slices.Contains(known, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Field(), *value, known)}
}

// Positive refuses a duration of zero, within which nothing can happen. It accepts one that does not parse, which the
// schema refuses.
func Positive(path Path, d *common.Duration) field.ErrorList {
	if d == nil || d.Or(1) > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), string(*d), "must be greater than 0")}
}

// Reasons returns why a name is invalid, by a function of package validation. The length of the name is bounded. It
// accepts the empty name, which the schema refuses.
func Reasons(path Path, name string, why func(string) []string) field.ErrorList {
	if name == "" {
		return nil
	}
	var errs field.ErrorList
	for _, reason := range why(name) {
		errs = append(errs, field.Invalid(path.Field(), name, reason))
	}
	return errs
}
