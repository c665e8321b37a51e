// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

func healthCheck(path rules.Path, spec *v1.ExternalServiceSpec) field.ErrorList {
	h := spec.HealthCheck
	if h == nil {
		return nil
	}
	errs := rules.Check(path, &h.Check)
	const message = "port must be the name or the number of a TCP port of spec.ports, and may be absent where that has a single port"
	for _, m := range rules.CheckMembers(&h.Check) {
		at := path.Child(m.Name, "port")
		switch {
		case CheckedPort(spec.Ports, m.Port) != nil:
		case m.Port == nil:
			errs = append(errs, field.Required(at.Field(), message))
		default:
			errs = append(errs, field.Invalid(at.Field(), m.Port.String(), message))
		}
	}
	_, _, unhealthyErrs := rules.OptionalDuration(path.Child("unhealthyInterval"), h.UnhealthyInterval)
	errs = append(errs, unhealthyErrs...)
	return append(errs, rules.OptionalRange(path.Child("jitterPercent"), h.JitterPercent, 0, 100)...)
}

// CheckedPort returns the port of an ExternalService that a check names, or its single one; nil where there is none, or it
// is not of protocol TCP.
func CheckedPort(ports []v1.ServicePort, named *intstr.IntOrString) *v1.ServicePort {
	if named == nil && len(ports) != 1 {
		return nil
	}
	for i := range ports {
		p := &ports[i]
		if protocol(*p) == corev1.ProtocolTCP && (named == nil || *named == intstr.FromString(p.Name) || *named == intstr.FromInt32(p.Port)) {
			return p
		}
	}
	return nil
}

func healthCheckSemantics(path rules.Path, h *v1.HealthCheck) field.ErrorList {
	if h == nil {
		return nil
	}
	return append(rules.CheckSemantics(path, &h.Check, "what is outside of the cluster"),
		atLeast(path.Child("unhealthyInterval"), h.UnhealthyInterval, time.Second)...)
}
