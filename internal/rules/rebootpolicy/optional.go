// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// The checks of fields that may be absent.

func optionalDuration(path rules.Path, d *common.Duration) field.ErrorList {
	_, _, errs := rules.OptionalDuration(path, d)
	return errs
}

func optionalRange(path rules.Path, value *int32, least, most int32) field.ErrorList {
	if value == nil {
		return nil
	}
	return rules.Range(path, *value, least, most)
}

func optionalEnum[T ~string](path rules.Path, value *T, allowed ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return rules.Enum(path, *value, allowed...)
}

func optionalText(path rules.Path, value *string, least, most int) field.ErrorList {
	if value == nil {
		return nil
	}
	return rules.Text(path, *value, least, most)
}

// unique refuses a value that a list holds already; at answers where item i says it.
func unique[T ~string](n int, item func(i int) T, at func(i int) rules.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[T]bool, n)
	for i := range n {
		value := item(i)
		if seen[value] {
			errs = append(errs, field.Duplicate(at(i).Field(), value))
		}
		seen[value] = true
	}
	return errs
}
