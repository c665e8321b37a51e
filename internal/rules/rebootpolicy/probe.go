// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

func probe(path rules.Path, p *autorebootv1.Probe) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := rules.Check(path, &p.Check)
	for _, m := range rules.CheckMembers(&p.Check) {
		switch {
		case m.Port == nil:
			errs = append(errs, field.Required(path.Child(m.Name, "port").Field(), "port is required"))
		case ptr.Deref(p.Host, "") != "" && m.Port.Type != intstr.Int:
			errs = append(errs, field.Invalid(path.Child(m.Name, "port").Field(), m.Port.StrVal,
				"with host, port must be a number: a name is that of a container's port"))
		}
	}
	errs = append(errs, rules.OptionalText(path.Child("host"), p.Host, 0, 253)...)
	return append(errs, rules.IntOrPercent(path.Child("minUnhealthy"), p.MinUnhealthy)...)
}

func probeSemantics(path rules.Path, p *autorebootv1.Probe) field.ErrorList {
	outside := ptr.Deref(p.Host, "")
	return append(rules.CheckSemantics(path, &p.Check, outside), host(path.Child("host"), outside)...)
}

// host is an IP address or a DNS name. Whether it may be connected to, the egress policy decides at
// each request.
func host(path rules.Path, name string) field.ErrorList {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	return subdomain(path, name)
}
