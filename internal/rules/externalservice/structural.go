// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"maps"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

var labelPattern = mostly{plain, regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)}

// Structural repeats the CRD's schema and CEL rules on the name and the spec, exactly. An
// absent protocol counts as TCP, which the schema makes it before CEL runs. The kind has no
// transition rules, so that old makes no difference.
func Structural(obj, _ *v1.ExternalService) field.ErrorList {
	spec, path := &obj.Spec, rules.At("spec")
	errs := rules.Name(obj.Name)
	errs = append(errs, service(path.Child("service"), spec.Service)...)
	errs = append(errs, ports(path.Child("ports"), spec.Ports)...)
	errs = append(errs, endpoints(path.Child("endpoints"), spec)...)
	errs = append(errs, resolution(path.Child("resolution"), spec.Resolution)...)
	errs = append(errs, healthCheck(path.Child("healthCheck"), spec)...)
	errs = append(errs, failover(path.Child("failover"), spec)...)
	if spec.DeletionPolicy != nil {
		errs = append(errs, rules.Enum(path.Child("deletionPolicy"), *spec.DeletionPolicy, v1.DeletionDelete, v1.DeletionOrphan)...)
	}
	return append(errs, rules.HistoryLimit(path.Child("historyLimit"), spec.HistoryLimit)...)
}

func service(path rules.Path, s *v1.ServiceTemplate) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if s.Type != nil {
		errs = append(errs, rules.Enum(path.Child("type"), *s.Type, v1.ServiceClusterIP, v1.ServiceHeadless)...)
	}
	labels := path.Child("labels")
	if len(s.Labels) > 32 {
		errs = append(errs, field.TooMany(labels.Field(), len(s.Labels), 32))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		errs = append(errs, rules.Text(labels.Key(key), string(s.Labels[key]), 0, 63)...)
	}
	return errs
}

type portKey struct {
	port     int32
	protocol corev1.Protocol
}

func ports(path rules.Path, list []v1.ServicePort) field.ErrorList {
	errs := rules.Items(path, len(list), 1, 16)
	list = rules.Within(list, 16)
	names, numbers := make(map[string]bool, len(list)), make(map[portKey]bool, len(list))
	for i, p := range list {
		at := path.Index(i)
		errs = append(errs, rules.Text(at.Child("name"), p.Name, 1, 15)...)
		errs = append(errs, rules.Pattern(at.Child("name"), p.Name, labelPattern, rules.NameMessage)...)
		errs = append(errs, rules.Range(at.Child("port"), p.Port, 1, 65535)...)
		if p.TargetPort != nil {
			errs = append(errs, rules.Range(at.Child("targetPort"), *p.TargetPort, 1, 65535)...)
		}
		if p.Protocol != nil {
			errs = append(errs, rules.Enum(at.Child("protocol"), *p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)...)
		}
		errs = append(errs, rules.OptionalText(at.Child("appProtocol"), p.AppProtocol, 0, 253)...)

		if names[p.Name] {
			errs = append(errs, field.Duplicate(at.Child("name").Field(), p.Name))
		}
		names[p.Name] = true
		key := portKey{port: p.Port, protocol: protocol(p)}
		if numbers[key] {
			errs = append(errs, field.Invalid(at.Child("port").Field(), p.Port, "port and protocol must be unique"))
		}
		numbers[key] = true
	}
	return errs
}

func protocol(p v1.ServicePort) corev1.Protocol {
	return ptr.Deref(p.Protocol, corev1.ProtocolTCP)
}

func hasPort(list []v1.ServicePort, name string) bool {
	for _, p := range list {
		if p.Name == name {
			return true
		}
	}
	return false
}

func resolution(path rules.Path, r *v1.Resolution) field.ErrorList {
	if r == nil {
		return nil
	}
	least, leastOK, errs := rules.OptionalDuration(path.Child("minTTL"), r.MinTTL)
	most, mostOK, mostErrs := rules.OptionalDuration(path.Child("maxTTL"), r.MaxTTL)
	errs = append(errs, mostErrs...)
	if leastOK && mostOK && least > most {
		errs = append(errs, field.Invalid(path.Child("minTTL").Field(), string(*r.MinTTL), "minTTL must not exceed maxTTL"))
	}
	if r.OnFailure != nil {
		errs = append(errs, rules.Enum(path.Child("onFailure"), *r.OnFailure, v1.ResolutionKeepLast, v1.ResolutionRemove)...)
	}
	_, _, keepErrs := rules.OptionalDuration(path.Child("keepLastFor"), r.KeepLastFor)
	return append(errs, keepErrs...)
}

func failover(path rules.Path, spec *v1.ExternalServiceSpec) field.ErrorList {
	f := spec.Failover
	if f == nil {
		return nil
	}
	var errs field.ErrorList
	if spec.HealthCheck == nil {
		errs = append(errs, field.Invalid(path.Field(), "", "failover needs healthCheck"))
	}
	errs = append(errs, rules.OptionalRange(path.Child("minHealthyPercent"), f.MinHealthyPercent, 0, 100)...)
	errs = append(errs, rules.OptionalRange(path.Child("panicThresholdPercent"), f.PanicThresholdPercent, 0, 100)...)
	if f.Failback != nil {
		errs = append(errs, rules.Enum(path.Child("failback"), *f.Failback, v1.FailbackAutomatic, v1.FailbackManual)...)
	}
	_, _, delayErrs := rules.OptionalDuration(path.Child("failbackDelay"), f.FailbackDelay)
	return append(errs, delayErrs...)
}
