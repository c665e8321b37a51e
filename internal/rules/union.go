// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import "k8s.io/apimachinery/pkg/util/validation/field"

// Member is one of the members of a union, each of which goes with a type.
type Member[T ~string] struct {
	Type T
	// Field is empty for a type that has no member.
	Field string
	IsSet bool
	// IsOptional means that the type alone is enough, since all fields of the member are optional.
	IsOptional bool
}

// Union checks the type of a union, and that it goes with its member.
func Union[T ~string](path Path, selected T, members ...Member[T]) field.ErrorList {
	var errs field.ErrorList
	var types []T
	for _, m := range members {
		types = append(types, m.Type)
		switch {
		case m.Field == "", (selected == m.Type) == m.IsSet:
		case !m.IsOptional:
			errs = append(errs, field.Invalid(path.Field(), selected,
				"type "+string(m.Type)+" and "+m.Field+" go together: set both or neither"))
		case m.IsSet:
			errs = append(errs, field.Invalid(path.Field(), selected, m.Field+" needs type "+string(m.Type)))
		}
	}
	return append(Enum(path.Child("type"), selected, types...), errs...)
}
