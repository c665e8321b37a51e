// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Clamp lowers the durations of a spec that are above their upper bounds, and returns what it did, as messages.
func Clamp(spec *chaosv1.ChaosPodSpec) []string {
	v, path := spec.Verification, specPath.Child("verification")
	if v == nil {
		return nil
	}
	return append(rules.ClampClaim(path.Child("recoveryTimeout"), &v.RecoveryTimeout), rules.ClampClaim(path.Child("soak"), &v.Soak)...)
}
