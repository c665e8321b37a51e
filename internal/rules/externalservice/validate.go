// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Validate applies all rules, Structural and Semantic, and those of the annotation that requests a
// fault. On an update, where old is not nil, errors that the stored object had already are forgiven, so
// that it can still be edited towards valid.
func Validate(obj, old *v1.ExternalService) field.ErrorList {
	errs := append(violations(obj, old), requests(obj)...)
	if old == nil || len(errs) == 0 {
		return errs
	}
	return rules.Ratchet(errs, append(violations(old, nil), requests(old)...))
}

// Publishable applies the rules without which an object cannot be published. A request for a
// fault that cannot be read is refused, and prevents nothing from being published.
func Publishable(obj *v1.ExternalService) field.ErrorList { return violations(obj, nil) }

// violations returns the errors of an object. It runs the semantic rules only where the object has no more of
// anything than the schema allows: that bounds their cost, and a client that reaches the webhooks may send more.
func violations(obj, old *v1.ExternalService) field.ErrorList {
	errs := Structural(obj, old)
	if rules.Excessive(errs) {
		return errs
	}
	return append(errs, Semantic(obj, old)...)
}
