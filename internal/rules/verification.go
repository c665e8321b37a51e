// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
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

// maxVerificationProbes is how many verification.probes there may be.
const maxVerificationProbes = 4

// VerificationProbes checks verification.probes as the schema and CEL do.
func VerificationProbes(path Path, list []common.VerificationProbe) field.ErrorList {
	errs := Items(path, len(list), 0, maxVerificationProbes)
	list = Within(list, maxVerificationProbes)
	for i := range list {
		p, at := &list[i], path.Index(i)
		c := p.Check()
		errs = append(errs, checkWithin(at, &c, "500ms")...)
		for _, m := range CheckMembers(&c) {
			switch port := at.Child(m.Name, "port").Field(); {
			case m.Port == nil:
				errs = append(errs, field.Required(port, "port is required"))
			case m.Port.Type != intstr.Int:
				errs = append(errs, field.Invalid(port, m.Port.StrVal, "port must be a number: a name is that of a container's port"))
			}
		}
		errs = append(errs, Text(at.Child("host"), p.Host, 1, 253)...)
		errs = append(errs, OptionalRange(at.Child("maxFailures"), p.MaxFailures, 0, 1000000)...)
	}
	return append(errs, Names(path, len(list), func(i int) string { return list[i].Name })...)
}

// VerificationProbeSemantics checks what schema and CEL cannot express of verification.probes.
func VerificationProbeSemantics(path Path, list []common.VerificationProbe) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		c, at := list[i].Check(), path.Index(i)
		errs = append(errs, CheckSemantics(at, &c, list[i].Host)...)
		if _, err := netip.ParseAddr(list[i].Host); err != nil {
			errs = append(errs, Reasons(at.Child("host"), list[i].Host, validation.IsDNS1123Subdomain)...)
		}
	}
	return errs
}

// DefaultVerificationProbes sets what is unset of verification.probes.
func DefaultVerificationProbes(list []common.VerificationProbe) {
	for i := range list {
		p := &list[i]
		c := p.Check()
		DefaultCheck(&c, VerificationProbeDefaults)
		p.HTTPGet, p.TLS, p.Interval, p.Timeout = c.HTTPGet, c.TLS, c.Interval, c.Timeout
		SetDefault(&p.MaxFailures, 0)
	}
}
