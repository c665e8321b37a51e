// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxItems is how many items the longest list of a spec may have by its schema, those of pod templates aside. The API server
// refuses more before it calls a webhook. Others may call one as well: this bounds what that costs.
const MaxItems = 100

// TooMany refuses a list of more than MaxItems.
func TooMany(path Path, n int) field.ErrorList {
	if n <= MaxItems {
		return nil
	}
	return field.ErrorList{field.TooMany(path.Field(), n, MaxItems)}
}

// Within returns the first items of a list, MaxItems at most.
func Within[T any](list []T) []T { return list[:min(len(list), MaxItems)] }

// Some refuses a list that has no items and must have one. The API server does so as well; but where the CRD of the cluster is
// of another release and calls the list otherwise, a stored object reads as if it had none, and what stands must not be taken
// away for that.
func Some(path Path, n int) field.ErrorList {
	if n > 0 {
		return nil
	}
	return field.ErrorList{field.Required(path.Field(), "at least one item is needed")}
}

// Known refuses a value on which it depends what is done, and which this release does not know: the CRD in a cluster may be
// that of a later one. One that is absent is for the schema, or has a default.
func Known[T ~string](path Path, value *T, known ...T) field.ErrorList {
	if value == nil || *value == "" || slices.Contains(known, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Field(), *value, known)}
}

// Positive refuses a span of nothing, within which nothing can happen. It is silent on spans that do not
// parse: the schema is not.
func Positive(path Path, d *common.Duration) field.ErrorList {
	if d == nil || d.Or(1) > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), string(*d), "must be greater than 0")}
}

// Reasons returns why a name of bounded length is wrong, by a function of package validation. The empty
// name is for the schema to refuse.
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
