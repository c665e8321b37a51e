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
	for i := range spec.Gates {
		if j := spec.Gates[i].JobSucceeded; j != nil {
			texts = append(texts, rules.ClampClaim(specPath.Child("gates").Index(i).Child("jobSucceeded", "deadline"), &j.Deadline)...)
		}
	}
	if v := spec.Verification; v != nil {
		at := specPath.Child("verification")
		texts = append(texts, rules.ClampVerification(at, &v.Verification)...)
		if v.Job != nil {
			texts = append(texts, rules.ClampClaim(at.Child("job", "deadline"), &v.Job.Deadline)...)
		}
	}
	return texts
}
