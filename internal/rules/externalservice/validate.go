// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Validate applies all rules, Structural and Semantic, and those of the annotation that asks for a
// fault. On an update, where old is not nil, errors that the stored object had already are forgiven, so
// that it can still be edited towards valid.
func Validate(obj, old *v1.ExternalService) field.ErrorList {
	errs := append(judge(obj, old), faultRequest(obj)...)
	if old == nil || len(errs) == 0 {
		return errs
	}
	return rules.Ratchet(errs, append(judge(old, nil), faultRequest(old)...))
}

// Publishable applies the rules without which an object cannot be published. A fault that is asked for
// in a way that cannot be read is refused, and keeps nothing from being published.
func Publishable(obj *v1.ExternalService) field.ErrorList { return judge(obj, nil) }

// judge asks for what an object means only where it has no more of anything than the schema allows: what
// that costs is bounded by the schema's bounds, and a client that reaches the webhooks may send more.
func judge(obj, old *v1.ExternalService) field.ErrorList {
	errs := Structural(obj, old)
	if rules.Excessive(errs) {
		return errs
	}
	return append(errs, Semantic(obj, old)...)
}
