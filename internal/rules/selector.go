// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// SelectsAll warns of an empty selector. what describes the consequence.
func SelectsAll(path Path, s *common.LabelSelector, what string) []string {
	if !s.IsEverything() {
		return nil
	}
	return []string{path.Field().String() + ": {} selects everything: " + what}
}

// Selector checks that keys and values are valid labels, and that values go with the operator.
func Selector(path Path, s *common.LabelSelector) field.ErrorList {
	if s == nil {
		return nil
	}
	expressions := path.Child("matchExpressions")
	errs := TooMany(expressions, len(s.MatchExpressions))
	for i := range Within(s.MatchExpressions) {
		r, at := &s.MatchExpressions[i], expressions.Index(i)
		errs = append(errs, TooMany(at.Child("values"), len(r.Values))...)
		if len(r.Key) > maxLabelKey { // otherwise the error of each value would repeat the key
			errs = append(errs, field.TooLong(at.Child("key").Field(), "", maxLabelKey))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if _, err := s.Selector(); err != nil {
		return field.ErrorList{field.Invalid(path.Field(), "", err.Error())}
	}
	return nil
}

// maxLabelKey is the maximum length of the key of a label in bytes: a prefix, a slash and a name.
const maxLabelKey = validation.DNS1123SubdomainMaxLength + 1 + validation.LabelValueMaxLength
