// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Clamp lowers the durations of a spec that are above their upper bounds, and returns what it did, as messages.
func Clamp(spec *chaosv1.ChaosPodSpec) []string {
	if spec.Verification == nil {
		return nil
	}
	return rules.ClampVerification(specPath.Child("verification"), spec.Verification)
}
