// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Selector checks a common.LabelSelector as the schema does.
func Selector(path Path, s *common.LabelSelector) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if len(s.MatchLabels) > 16 {
		errs = append(errs, field.TooMany(path.Child("matchLabels").Field(), len(s.MatchLabels), 16))
	}
	for key, value := range s.MatchLabels {
		errs = append(errs, Text(path.Child("matchLabels").Key(key), string(value), 0, 63)...)
	}
	expressions := path.Child("matchExpressions")
	errs = append(errs, Items(expressions, len(s.MatchExpressions), 0, 16)...)
	for i, r := range Within(s.MatchExpressions, 16) {
		at := expressions.Index(i)
		errs = append(errs, Text(at.Child("key"), r.Key, 1, 317)...)
		errs = append(errs, Enum(at.Child("operator"), r.Operator, "In", "NotIn", "Exists", "DoesNotExist")...)
		errs = append(errs, Items(at.Child("values"), len(r.Values), 0, 32)...)
		for j, value := range Within(r.Values, 32) {
			errs = append(errs, Text(at.Child("values").Index(j), string(value), 0, 63)...)
		}
	}
	return errs
}

// SelectsAll warns of a selector that is empty, in the words of what follows.
func SelectsAll(path Path, s *common.LabelSelector, what string) []string {
	if !s.IsEverything() {
		return nil
	}
	return []string{path.Field().String() + ": {} selects everything: " + what}
}

// SelectorSyntax checks what the schema cannot express: keys and values are valid labels, and values go
// with the operator.
func SelectorSyntax(path Path, s *common.LabelSelector) field.ErrorList {
	if _, err := s.Selector(); err != nil {
		return field.ErrorList{field.Invalid(path.Field(), "", err.Error())}
	}
	return nil
}
