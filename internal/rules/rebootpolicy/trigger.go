// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

func triggers(path rules.Path, list []autorebootv1.Trigger) field.ErrorList {
	errs := rules.Items(path, len(list), 0, 16)
	list = rules.Within(list, 16)
	for i := range list {
		errs = append(errs, trigger(path.Index(i), &list[i])...)
	}
	return append(errs, rules.Names(path, len(list), func(i int) string { return list[i].Name })...)
}

func trigger(path rules.Path, t *autorebootv1.Trigger) field.ErrorList {
	type member = rules.Member[autorebootv1.TriggerType]
	errs := rules.OptionalText(path.Child("description"), t.Description, 0, 1024)
	errs = append(errs, rules.Union(path, t.Type,
		member{Type: autorebootv1.TriggerConfigChange, Field: "configChange", IsSet: t.ConfigChange != nil, IsOptional: true},
		member{Type: autorebootv1.TriggerCertificateRenewal, Field: "certificateRenewal", IsSet: t.CertificateRenewal != nil},
		member{Type: autorebootv1.TriggerProbe, Field: "probe", IsSet: t.Probe != nil},
		member{Type: autorebootv1.TriggerSchedule, Field: "schedule", IsSet: t.Schedule != nil},
		member{Type: autorebootv1.TriggerPodAge, Field: "podAge", IsSet: t.PodAge != nil},
		member{Type: autorebootv1.TriggerEndpointsChange, Field: "endpointsChange", IsSet: t.EndpointsChange != nil})...)
	errs = append(errs, configChange(path.Child("configChange"), t.ConfigChange)...)
	errs = append(errs, certificateRenewal(path.Child("certificateRenewal"), t.CertificateRenewal)...)
	errs = append(errs, probe(path.Child("probe"), t.Probe)...)
	if s := t.Schedule; s != nil {
		at := path.Child("schedule")
		errs = append(errs, rules.Cron(at.Child("cron"), s.Cron)...)
		errs = append(errs, rules.TimeZone(at.Child("timeZone"), s.TimeZone)...)
		if s.StartingDeadline != "" {
			errs = append(errs, optionalDuration(at.Child("startingDeadline"), &s.StartingDeadline)...)
		}
	}
	if a := t.PodAge; a != nil {
		at := path.Child("podAge")
		span, ok, durationErrs := rules.Duration(at.Child("max"), a.Max)
		errs = append(errs, durationErrs...)
		if ok && span < 10*time.Minute {
			errs = append(errs, field.Invalid(at.Child("max").Field(), string(a.Max), "max must be at least 10m"))
		}
		errs = append(errs, rules.OptionalRange(at.Child("jitterPercent"), a.JitterPercent, 0, 50)...)
	}
	return append(errs, endpointsChange(path.Child("endpointsChange"), t.EndpointsChange)...)
}

func configChange(path rules.Path, c *autorebootv1.ConfigChange) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := rules.OptionalEnum(path.Child("discovery"), c.Discovery, autorebootv1.DiscoveryReferenced, autorebootv1.DiscoveryExplicit)
	errs = append(errs, rules.OptionalEnum(path.Child("onCreate"), c.OnCreate, autorebootv1.SourceIgnore, autorebootv1.SourceRestart)...)
	errs = append(errs, rules.OptionalEnum(path.Child("onDelete"), c.OnDelete, autorebootv1.SourceIgnore, autorebootv1.SourceRestart)...)
	if c.Discovery != nil && *c.Discovery != autorebootv1.DiscoveryReferenced && len(c.Sources) == 0 {
		errs = append(errs, field.Invalid(path.Field(), *c.Discovery, "sources is required when discovery is Explicit"))
	}
	errs = append(errs, rules.Items(path.Child("sources"), len(c.Sources), 0, 32)...)
	sources := rules.Within(c.Sources, 32)
	for i := range sources {
		s, at := &sources[i], path.Child("sources").Index(i)
		errs = append(errs, source(at, s.Kind, s.Name, s.Selector, s.Keys)...)
		if len(s.Keys) > 0 && s.Name == "" {
			errs = append(errs, field.Invalid(at.Field(), s.Keys[0], "keys needs name"))
		}
		if s.Kind == autorebootv1.SourceSecretProviderClass && s.Selector != nil {
			errs = append(errs, field.Invalid(at.Field(), string(s.Kind), "a SecretProviderClass needs name: its labels are not read"))
		}
	}
	errs = append(errs, rules.Items(path.Child("exclude"), len(c.Exclude), 0, 32)...)
	excluded := rules.Within(c.Exclude, 32)
	for i := range excluded {
		e, at := &excluded[i], path.Child("exclude").Index(i)
		errs = append(errs, source(at, e.Kind, e.Name, e.Selector, e.Keys)...)
		if s := e.Selector; e.Kind == autorebootv1.SourceSecretProviderClass && s != nil && (s.MatchLabels != nil || s.MatchExpressions != nil) {
			errs = append(errs, field.Invalid(at.Field(), string(e.Kind),
				"a SecretProviderClass needs name, or an empty selector for all: its labels are not read"))
		}
	}
	return errs
}

// source checks what sources and excluded sources have in common.
func source(path rules.Path, kind autorebootv1.SourceKind, name string, selector *common.LabelSelector, keys []string) field.ErrorList {
	errs := rules.Enum(path.Child("kind"), kind,
		autorebootv1.SourceConfigMap, autorebootv1.SourceSecret, autorebootv1.SourceSecretProviderClass)
	errs = append(errs, named(path, name, selector)...)
	at := path.Child("keys")
	errs = append(errs, rules.Items(at, len(keys), 0, 64)...)
	listed := rules.Within(keys, 64)
	for j, key := range listed {
		errs = append(errs, rules.Text(at.Index(j), key, 1, 253)...)
	}
	return append(errs, rules.Unique(len(listed), func(j int) string { return listed[j] }, at.Index)...)
}

func certificateRenewal(path rules.Path, c *autorebootv1.CertificateRenewal) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := rules.Text(path.Child("secretName"), c.SecretName, 1, 253)
	errs = append(errs, rules.OptionalText(path.Child("key"), c.Key, 1, 253)...)
	if c.IgnoreWindowsBefore != "" {
		errs = append(errs, optionalDuration(path.Child("ignoreWindowsBefore"), &c.IgnoreWindowsBefore)...)
	}
	return errs
}

func endpointsChange(path rules.Path, e *autorebootv1.EndpointsChange) field.ErrorList {
	if e == nil {
		return nil
	}
	errs := rules.Text(path.Child("externalServiceName"), e.ExternalServiceName, 1, 63)
	events := path.Child("events")
	errs = append(errs, rules.Items(events, len(e.Events), 0, 4)...)
	listed := rules.Within(e.Events, 4)
	for i, event := range listed {
		errs = append(errs, rules.Enum(events.Index(i), event, autorebootv1.EndpointsAddressesChanged,
			autorebootv1.EndpointsFailedOver, autorebootv1.EndpointsFailedBack, autorebootv1.EndpointsRecovered)...)
	}
	return append(errs, rules.Unique(len(listed), func(i int) autorebootv1.EndpointsEvent { return listed[i] }, events.Index)...)
}
