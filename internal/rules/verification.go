// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Verification checks a verification as the schema does.
func Verification(path Path, v *common.Verification) field.ErrorList {
	errs := ClaimDuration(path.Child("timeout"), v.Timeout)
	errs = append(errs, ClaimDuration(path.Child("soak"), v.Soak)...)
	return append(errs, OptionalEnum(path.Child("onFailure"), v.OnFailure, common.FailureHalt, common.FailureContinue)...)
}

// VerificationSemantics refuses a verification that nothing passes.
func VerificationSemantics(path Path, v *common.Verification) field.ErrorList {
	return Positive(path.Child("timeout"), v.Timeout)
}

// ClampVerification lowers the durations of a verification as ClampClaim does.
func ClampVerification(path Path, v *common.Verification) []string {
	return append(ClampClaim(path.Child("timeout"), &v.Timeout), ClampClaim(path.Child("soak"), &v.Soak)...)
}
