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

// CheckedPort returns the port of an ExternalService that a check names, or its only port. It returns nil if there is
// none, or if its protocol is not TCP.
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

func healthCheck(path rules.Path, spec *v1.ExternalServiceSpec) field.ErrorList {
	h := spec.HealthCheck
	if h == nil {
		return nil
	}
	errs := append(rules.Check(path, &h.Check, "what is outside of the cluster"),
		atLeast(path.Child("unhealthyInterval"), h.UnhealthyInterval, time.Second)...)
	if CheckedPort(rules.Within(spec.Ports), h.Port()) == nil {
		errs = append(errs, field.Required(rules.PortPath(path, &h.Check).Field(), "port must be the name or the number of a TCP port of spec.ports"))
	}
	return errs
}
