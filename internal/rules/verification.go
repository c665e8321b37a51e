// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Verification checks a verification as the schema does.
func Verification(path Path, v *common.Verification) field.ErrorList {
	errs := ClaimDuration(path.Child("timeout"), v.Timeout)
	errs = append(errs, ClaimDuration(path.Child("soak"), v.Soak)...)
	errs = append(errs, OptionalEnum(path.Child("onFailure"), v.OnFailure, common.FailureHalt, common.FailureContinue)...)
	return append(errs, verificationProbes(path.Child("probes"), v.Probes)...)
}

// VerificationSemantics refuses a verification that nothing passes, and checks what schema and CEL cannot express of its probes.
func VerificationSemantics(path Path, v *common.Verification) field.ErrorList {
	errs := Positive(path.Child("timeout"), v.Timeout)
	for i := range v.Probes {
		p, at := &v.Probes[i], path.Child("probes").Index(i)
		c := p.Check()
		errs = append(errs, CheckSemantics(at, &c, p.Host)...)
		if _, err := netip.ParseAddr(p.Host); err != nil {
			errs = append(errs, Reasons(at.Child("host"), p.Host, validation.IsDNS1123Subdomain)...)
		}
	}
	return errs
}

// VerificationWarnings returns what is likely to be a mistake in verification.probes. What follows where no request
// can be sent is in the words of a sentence, such as "the restart fails".
func VerificationWarnings(path Path, v *common.Verification, fails string) []string {
	if v == nil {
		return nil
	}
	var texts []string
	for i := range v.Probes {
		p, at := &v.Probes[i], path.Child("probes").Index(i)
		if InCluster(p.Host) {
			texts = append(texts, fmt.Sprintf("%s: %s resolves to an address inside the cluster, where the egress policy lets a probe in only if an administrator allowed it; without that no request can be sent, and %s", at.Child("host").Field(), p.Host, fails))
		}
		check := p.Check()
		texts = append(texts, CheckWarnings(at, &check)...)
	}
	return texts
}

// InCluster reports whether a name resolves into the cluster, or to the operator itself, wherever it is looked
// up. It is a hint: the address is checked when it is connected to.
func InCluster(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, ".svc.") || strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".cluster.local") ||
		name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// ClampVerification lowers the durations of a verification as ClampClaim does.
func ClampVerification(path Path, v *common.Verification) []string {
	return append(ClampClaim(path.Child("timeout"), &v.Timeout), ClampClaim(path.Child("soak"), &v.Soak)...)
}

// maxVerificationProbes is how many verification.probes there may be.
const maxVerificationProbes = 4

// verificationProbes checks verification.probes as the schema and CEL do.
func verificationProbes(path Path, list []common.VerificationProbe) field.ErrorList {
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
