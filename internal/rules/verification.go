// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Verification refuses a verification that no workload can pass, and checks its probes.
func Verification(path Path, v *common.Verification) field.ErrorList {
	probes := path.Child("probes")
	errs := append(Positive(path.Child("timeout"), v.Timeout), TooMany(probes, len(v.Probes))...)
	for i := range Within(v.Probes) {
		p, at := &v.Probes[i], probes.Index(i)
		c := p.Check()
		errs = append(errs, Check(at, &c, p.Host)...)
		errs = append(errs, CheckedPort(at, &c, true)...)
		if _, err := netip.ParseAddr(p.Host); err != nil {
			errs = append(errs, Reasons(at.Child("host"), p.Host, validation.IsDNS1123Subdomain)...)
		}
	}
	return errs
}

// VerificationWarnings returns what is probably a mistake in verification.probes. fails describes what follows if no
// request can be sent, such as "the restart fails".
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

// InCluster reports whether a name resolves into the cluster, or to the operator itself, wherever it is looked up. It
// is only a hint: the address is checked when the operator connects.
func InCluster(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, ".svc.") || strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".cluster.local") ||
		name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// ClampVerification lowers the durations of a verification as ClampClaim does.
func ClampVerification(path Path, v *common.Verification) []string {
	return append(ClampClaim(path.Child("timeout"), &v.Timeout), ClampClaim(path.Child("soak"), &v.Soak)...)
}

// DefaultVerificationProbes sets the defaults of verification.probes.
func DefaultVerificationProbes(list []common.VerificationProbe) {
	for i := range list {
		p := &list[i]
		c := p.Check()
		DefaultCheck(&c, VerificationProbeDefaults)
		p.HTTPGet, p.TLS, p.Interval, p.Timeout = c.HTTPGet, c.TLS, c.Interval, c.Timeout
		SetDefault(&p.MaxFailures, 0)
	}
}
