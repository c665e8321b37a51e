// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// Tokens checks the annotations by which a user requests something once. Without the check, an invalid value would look
// accepted and request nothing.
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
			errs = append(errs, field.Invalid(path.Field(), text.Truncate(value, common.MaxTokenLength),
				"must be of printable characters, such as the time"))
		}
	}
	return errs
}

// EarlyRequest warns if an object that the operator has not observed yet has a token: it requests nothing.
func EarlyRequest(obj metav1.Object, key string) []string {
	if common.TokenOf(obj, key) == "" {
		return nil
	}
	return []string{At("metadata", "annotations").Key(key).Field().String() +
		": requests nothing on an object without a status, which may be restored from a backup; give it another value once the operator has observed the object"}
}
