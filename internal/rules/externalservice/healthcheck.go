// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// CheckedPort returns the port of an ExternalService that a check names, or its single one; nil where there is none, or it
// is not of protocol TCP. The check may name a number that is not published.
func CheckedPort(ports []v1.ServicePort, named *intstr.IntOrString) *v1.ServicePort {
	if named == nil && len(ports) != 1 {
		return nil
	}
	for i := range ports {
		p := &ports[i]
		isNamed := named == nil || *named == intstr.FromString(p.Name) || *named == intstr.FromInt32(p.Port)
		if isNamed && ptr.Deref(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
			return p
		}
	}
	return nil
}

// UnpublishedPort returns the number of a port that is checked and not published; 0 for none.
func UnpublishedPort(spec *v1.ExternalServiceSpec) uint16 {
	if spec.HealthCheck == nil {
		return 0
	}
	named := spec.HealthCheck.Port()
	if named == nil || named.Type != intstr.Int || CheckedPort(spec.Ports, named) != nil {
		return 0
	}
	return uint16(named.IntVal)
}

func healthCheck(path rules.Path, spec *v1.ExternalServiceSpec) field.ErrorList {
	h := spec.HealthCheck
	if h == nil {
		return nil
	}
	errs := append(rules.Check(path, &h.Check, "what is outside of the cluster"),
		atLeast(path.Child("unhealthyInterval"), h.UnhealthyInterval, time.Second)...)
	if named := h.Port(); CheckedPort(rules.Within(spec.Ports), named) == nil && (named == nil || named.Type != intstr.Int) {
		errs = append(errs, field.Required(rules.PortPath(path, &h.Check).Field(), "port must be a number or the name of a TCP port of spec.ports"))
	}
	return errs
}
