// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

func healthCheck(path rules.Path, h *v1.HealthCheck) field.ErrorList {
	if h == nil {
		return nil
	}
	errs := rules.Text(path.Child("port"), h.Port, 0, 15)
	kinds := 0
	for _, given := range []bool{h.TCP != nil, h.HTTP != nil, h.GRPC != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		errs = append(errs, field.Invalid(path.Field(), "", "set exactly one of tcp, http, grpc"))
	}
	errs = append(errs, httpCheck(path.Child("http"), h.HTTP)...)
	if h.GRPC != nil {
		errs = append(errs, rules.Text(path.Child("grpc", "service"), h.GRPC.Service, 0, 253)...)
		errs = append(errs, rules.Text(path.Child("grpc", "authority"), h.GRPC.Authority, 0, 253)...)
	}
	if h.TLS != nil {
		errs = append(errs, rules.Text(path.Child("tls", "serverName"), h.TLS.ServerName, 0, 253)...)
		errs = append(errs, rules.Text(path.Child("tls", "caSecretName"), h.TLS.CASecretName, 0, 253)...)
		if h.TCP != nil {
			errs = append(errs, field.Invalid(path.Child("tls").Field(), "", "tls goes with http or grpc"))
		}
	}
	errs = append(errs, healthCheckTimes(path, h)...)
	errs = append(errs, rules.OptionalRange(path.Child("jitterPercent"), h.JitterPercent, 0, 100)...)
	errs = append(errs, rules.OptionalRange(path.Child("healthyThreshold"), h.HealthyThreshold, 1, 100)...)
	return append(errs, rules.OptionalRange(path.Child("unhealthyThreshold"), h.UnhealthyThreshold, 1, 100)...)
}

func healthCheckTimes(path rules.Path, h *v1.HealthCheck) field.ErrorList {
	interval, intervalOK, errs := rules.OptionalDuration(path.Child("interval"), h.Interval)
	if intervalOK && interval < time.Second {
		errs = append(errs, field.Invalid(path.Child("interval").Field(), string(*h.Interval),
			"interval must be at least 1s"))
	}
	timeout, timeoutOK, timeoutErrs := rules.OptionalDuration(path.Child("timeout"), h.Timeout)
	errs = append(errs, timeoutErrs...)
	if intervalOK && timeoutOK && timeout > interval {
		errs = append(errs, field.Invalid(path.Child("timeout").Field(), string(*h.Timeout), "timeout must not exceed interval"))
	}
	_, _, unhealthyErrs := rules.OptionalDuration(path.Child("unhealthyInterval"), h.UnhealthyInterval)
	return append(errs, unhealthyErrs...)
}

func httpCheck(path rules.Path, h *v1.HTTPCheck) field.ErrorList {
	if h == nil {
		return nil
	}
	var errs field.ErrorList
	if h.Path != nil {
		errs = append(errs, rules.Text(path.Child("path"), *h.Path, 0, 1024)...)
		errs = append(errs, rules.RequestPath(path.Child("path"), h.Path)...)
	}
	errs = append(errs, rules.Text(path.Child("host"), h.Host, 0, 253)...)
	if h.Scheme != nil {
		errs = append(errs, rules.Enum(path.Child("scheme"), *h.Scheme, v1.SchemeHTTP, v1.SchemeHTTPS)...)
	}
	statuses := path.Child("expectedStatuses")
	errs = append(errs, rules.Items(statuses, len(h.ExpectedStatuses), 0, 8)...)
	for i, r := range rules.Within(h.ExpectedStatuses, 8) {
		at := statuses.Index(i)
		errs = append(errs, rules.Range(at.Child("start"), r.Start, 100, 599)...)
		errs = append(errs, rules.Range(at.Child("end"), r.End, 100, 599)...)
		if r.Start > r.End {
			errs = append(errs, field.Invalid(at.Child("start").Field(), r.Start, "start must not exceed end"))
		}
	}
	return errs
}

// checkedPort demands that it is clear which port is checked. Each rule is reported by itself: where one was
// broken already, another is no more forgiven than by the CRD.
func checkedPort(path rules.Path, spec *v1.ExternalServiceSpec) (errs field.ErrorList) {
	h := spec.HealthCheck
	if h == nil {
		return nil
	}
	if h.Port != "" {
		if !hasPort(spec.Ports, h.Port) {
			errs = append(errs, field.Invalid(path.Field(), h.Port, "healthCheck.port must name one of ports"))
		}
		return errs
	}
	if len(spec.Ports) != 1 {
		errs = append(errs, field.Invalid(path.Field(), "", "healthCheck.port is required with more than one port"))
	}
	for _, p := range spec.Ports {
		if protocol(p) != corev1.ProtocolTCP {
			return append(errs, field.Invalid(path.Field(), "", "name the TCP port to check"))
		}
	}
	return errs
}
