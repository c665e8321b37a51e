// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Clamp lowers the durations of a spec that are above their upper bounds, and returns what it did, as messages.
func Clamp(spec *autorebootv1.RebootPolicySpec) []string {
	var texts []string
	if s := spec.Strategy; s != nil && s.Evict != nil {
		texts = append(texts, rules.ClampClaim(specPath.Child("strategy", "evict", "timeout"), &s.Evict.Timeout)...)
	}
	if v := spec.Verification; v != nil {
		texts = append(texts, rules.ClampVerification(specPath.Child("verification"), &v.Verification)...)
	}
	return texts
}
