// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Validate applies all rules. On an update it forgives the errors that the stored object has as
// well, so that an object older than a rule can be edited towards valid.
func Validate(obj, old *autorebootv1.RebootPolicy) field.ErrorList {
	errs := violations(obj, old)
	if old == nil || len(errs) == 0 {
		return errs
	}
	return rules.Ratchet(errs, violations(old, nil))
}

// violations returns the errors of an object. It runs the semantic rules only where the object has no more of
// anything than the schema allows: that bounds their cost, and a client that reaches the webhooks may send more.
func violations(obj, old *autorebootv1.RebootPolicy) field.ErrorList {
	errs := Structural(obj, old)
	if rules.Excessive(errs) {
		return errs
	}
	return append(errs, Semantic(obj, old)...)
}
