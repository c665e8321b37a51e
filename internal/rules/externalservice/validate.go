// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Validate applies all rules, Structural and Semantic. On an update, where old is not nil, errors
// that the stored object had already are forgiven, so that it can still be edited towards valid.
func Validate(obj, old *v1.ExternalService) field.ErrorList {
	errs := append(Structural(obj, old), Semantic(obj, old)...)
	if old == nil || len(errs) == 0 {
		return errs
	}
	return rules.Ratchet(errs, append(Structural(old, nil), Semantic(old, nil)...))
}
