// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Semantic checks what schema and CEL cannot express: cron expressions parse and fire, time zones exist,
// selectors compile, names could exist, spans within which something must
// happen are longer than nothing, and the annotations by which a user requests something can be
// read. It reports nothing where Structural does already.
func Semantic(obj, _ *autorebootv1.RebootPolicy) field.ErrorList {
	spec := &obj.Spec
	errs := rules.Tokens(obj.Annotations, autorebootv1.RestartNowAnnotation, autorebootv1.ResumeAnnotation, autorebootv1.ApproveAnnotation)
	errs = append(errs, onInjectedFault(obj)...)
	errs = append(errs, subdomain(specPath.Child("serviceAccountName"), spec.ServiceAccountName)...)
	for i := range spec.Targets {
		t, at := &spec.Targets[i], specPath.Child("targets").Index(i)
		errs = append(errs, subdomain(at.Child("name"), t.Name)...)
		errs = append(errs, rules.SelectorSyntax(at.Child("selector"), t.Selector)...)
	}
	for i := range spec.Triggers {
		errs = append(errs, triggerSemantics(specPath.Child("triggers").Index(i), &spec.Triggers[i])...)
	}
	for i := range spec.Gates {
		errs = append(errs, gateSemantics(specPath.Child("gates").Index(i), &spec.Gates[i])...)
	}
	if s := spec.Strategy; s != nil && s.Evict != nil {
		errs = append(errs, rules.Positive(specPath.Child("strategy", "evict", "timeout"), s.Evict.Timeout)...)
	}
	if l := spec.Limit; l != nil {
		errs = append(errs, rules.Positive(specPath.Child("limit", "within"), &l.Within)...)
	}
	if v := spec.Verification; v != nil {
		errs = append(errs, rules.VerificationSemantics(specPath.Child("verification"), &v.Verification)...)
	}
	return append(errs, rules.CalendarSyntax(specPath, &spec.Calendar)...)
}

func triggerSemantics(path rules.Path, t *autorebootv1.Trigger) field.ErrorList {
	var errs field.ErrorList
	if c := t.ConfigChange; c != nil {
		for i := range c.Sources {
			s := &c.Sources[i]
			errs = append(errs, sourceSemantics(path.Child("configChange", "sources").Index(i), s.Kind, s.Name, s.Selector, s.Keys)...)
		}
		for i := range c.Exclude {
			e := &c.Exclude[i]
			errs = append(errs, sourceSemantics(path.Child("configChange", "exclude").Index(i), e.Kind, e.Name, e.Selector, e.Keys)...)
		}
	}
	if c := t.CertificateRenewal; c != nil {
		at := path.Child("certificateRenewal")
		errs = append(errs, subdomain(at.Child("secretName"), c.SecretName)...)
		if c.Key != nil {
			errs = append(errs, dataKey(at.Child("key"), *c.Key)...)
		}
	}
	if p := t.Probe; p != nil {
		errs = append(errs, probeSemantics(path.Child("probe"), p)...)
	}
	if s := t.Schedule; s != nil {
		at := path.Child("schedule")
		errs = append(errs, rules.CronSyntax(at, s.Cron, s.TimeZone)...)
		if s.StartingDeadline != "" {
			errs = append(errs, rules.Positive(at.Child("startingDeadline"), &s.StartingDeadline)...)
		}
	}
	if e := t.EndpointsChange; e != nil {
		errs = append(errs, label(path.Child("endpointsChange", "externalServiceName"), e.ExternalServiceName)...)
	}
	return errs
}

func sourceSemantics(
	path rules.Path, kind autorebootv1.SourceKind, name string, selector *common.LabelSelector, keys []string,
) field.ErrorList {
	errs := append(subdomain(path.Child("name"), name), rules.SelectorSyntax(path.Child("selector"), selector)...)
	if kind == autorebootv1.SourceSecretProviderClass {
		return errs // its keys are the ids of another project, which have slashes and colons
	}
	for j, key := range keys {
		errs = append(errs, dataKey(path.Child("keys").Index(j), key)...)
	}
	return errs
}

func subdomain(path rules.Path, name string) field.ErrorList {
	return rules.Reasons(path, name, validation.IsDNS1123Subdomain)
}

func label(path rules.Path, name string) field.ErrorList {
	return rules.Reasons(path, name, validation.IsDNS1123Label)
}

func dataKey(path rules.Path, key string) field.ErrorList {
	return rules.Reasons(path, key, validation.IsConfigMapKey)
}
