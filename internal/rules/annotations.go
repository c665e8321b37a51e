// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Tokens checks the annotations by which a user requests something once. One that is no token would look as if it had
// been accepted.
func Tokens(annotations map[string]string, keys ...string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range keys {
		value, has := annotations[key]
		path := At("metadata", "annotations").Key(key)
		switch token := common.Token(value); {
		case !has || token.IsValid():
		case token == "":
			errs = append(errs, field.Required(path.Field(), "give a token that was not used before, such as the time; to request nothing, remove the annotation"))
		case token.IsPrintable():
			errs = append(errs, field.TooLong(path.Field(), "", common.MaxTokenLength))
		default:
			errs = append(errs, field.Invalid(path.Field(), value[:min(len(value), common.MaxTokenLength)], "must be of printable characters, such as the time"))
		}
	}
	return errs
}
