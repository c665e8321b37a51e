// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

var specPath = rules.At("spec")

// Validate checks what schema and CEL cannot express. Cron expressions parse and fire, time zones exist, selectors
// compile, and names could exist. Durations within which something must happen are above zero, and annotations that
// request something are valid. It accepts what the old object has as well; old may be nil.
func Validate(obj, old *autorebootv1.RebootPolicy) field.ErrorList {
	return rules.Ratchet(obj, old, violations)
}

func violations(obj *autorebootv1.RebootPolicy) field.ErrorList {
	spec := &obj.Spec
	errs := rules.Tokens(obj.Annotations, autorebootv1.RestartNowAnnotation, autorebootv1.RetryAnnotation, autorebootv1.ApproveAnnotation)
	errs = append(errs, onInjectedFault(obj)...)
	errs = append(errs, subdomain(specPath.Child("serviceAccountName"), spec.ServiceAccountName)...)
	targets, triggers, gates := specPath.Child("targets"), specPath.Child("triggers"), specPath.Child("gates")
	errs = append(append(errs, rules.Some(targets, len(spec.Targets))...), rules.TooMany(targets, len(spec.Targets))...)
	for i := range rules.Within(spec.Targets) {
		t, at := &spec.Targets[i], targets.Index(i)
		errs = append(errs, subdomain(at.Child("name"), t.Name)...)
		errs = append(errs, rules.Selector(at.Child("selector"), t.Selector)...)
		errs = append(errs, batch(at, t, spec)...)
	}
	errs = append(errs, rules.TooMany(triggers, len(spec.Triggers))...)
	for i := range rules.Within(spec.Triggers) {
		errs = append(errs, trigger(triggers.Index(i), &spec.Triggers[i])...)
	}
	errs = append(errs, rules.TooMany(gates, len(spec.Gates))...)
	for i := range rules.Within(spec.Gates) {
		errs = append(errs, gate(gates.Index(i), &spec.Gates[i])...)
	}
	if s := spec.Strategy; s != nil {
		at := specPath.Child("strategy", "type")
		errs = append(errs, rules.Known(at, &s.Type, autorebootv1.StrategyRolloutRestart, autorebootv1.StrategyEvict)...)
		if s.Evict != nil {
			errs = append(errs, rules.Positive(specPath.Child("strategy", "evict", "timeout"), s.Evict.Timeout)...)
		}
	}
	if l := spec.Limit; l != nil {
		errs = append(errs, rules.Positive(specPath.Child("limit", "within"), &l.Within)...)
	}
	if v := spec.Verification; v != nil {
		errs = append(errs, rules.Verification(specPath.Child("verification"), &v.Verification)...)
	}
	return append(errs, rules.Calendar(specPath, &spec.Calendar)...)
}

// batch checks a target of group batch. Its pods run to completion, so they are neither evicted nor probed.
func batch(path rules.Path, t *autorebootv1.Target, spec *autorebootv1.RebootPolicySpec) (errs field.ErrorList) {
	if t.Group != common.BatchGroup {
		return nil
	}
	if kind := KindsOf(t)[0]; t.Kind != "" && kind != common.WorkloadCronJob && kind != common.WorkloadJob {
		kinds := []common.WorkloadKind{common.WorkloadCronJob.Name(), common.WorkloadJob.Name()}
		errs = append(errs, field.NotSupported(path.Child("kind").Field(), t.Kind, kinds))
	}
	if Evicts(spec) {
		errs = append(errs, field.Invalid(path.Child("group").Field(), t.Group, "the strategy Evict does not restart CronJobs and Jobs: give them a policy of their own"))
	}
	for i := range rules.Within(spec.Triggers) {
		if kind := spec.Triggers[i].Type; kind == autorebootv1.TriggerProbe || kind == autorebootv1.TriggerPodAge {
			errs = append(errs, field.Invalid(path.Child("group").Field(), t.Group,
				fmt.Sprintf("trigger %s of type %s looks at pods that are to stay, which CronJobs and Jobs do not have: give them a policy of their own", TriggerName(&spec.Triggers[i]), kind)))
		}
	}
	return errs
}

func trigger(path rules.Path, t *autorebootv1.Trigger) field.ErrorList {
	var errs field.ErrorList
	if c := t.ConfigChange; c != nil {
		sources, exclude := path.Child("configChange", "sources"), path.Child("configChange", "exclude")
		errs = append(rules.TooMany(sources, len(c.Sources)), rules.TooMany(exclude, len(c.Exclude))...)
		for i := range rules.Within(c.Sources) {
			s := &c.Sources[i]
			errs = append(errs, source(sources.Index(i), s.Kind, s.Name, s.Selector, s.Keys)...)
		}
		for i := range rules.Within(c.Exclude) {
			e := &c.Exclude[i]
			errs = append(errs, source(exclude.Index(i), e.Kind, e.Name, e.Selector, e.Keys)...)
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
		errs = append(errs, probe(path.Child("probe"), p)...)
	}
	if s := t.Schedule; s != nil {
		at := path.Child("schedule")
		errs = append(errs, rules.Cron(at, s.Cron, s.TimeZone)...)
		if s.StartingDeadline != "" {
			errs = append(errs, rules.Positive(at.Child("startingDeadline"), &s.StartingDeadline)...)
		}
	}
	if e := t.EndpointsChange; e != nil {
		errs = append(errs, label(path.Child("endpointsChange", "externalServiceName"), e.ExternalServiceName)...)
	}
	return errs
}

func source(
	path rules.Path, kind autorebootv1.SourceKind, name string, selector *common.LabelSelector, keys []string,
) field.ErrorList {
	errs := append(subdomain(path.Child("name"), name), rules.Selector(path.Child("selector"), selector)...)
	if kind == autorebootv1.SourceSecretProviderClass {
		return errs // its keys are ids of the CSI driver, with slashes and colons
	}
	for j, key := range keys {
		errs = append(errs, dataKey(path.Child("keys").Index(j), key)...)
	}
	return errs
}

func gate(path rules.Path, g *autorebootv1.Gate) field.ErrorList {
	var errs field.ErrorList
	if c := g.Condition; c != nil {
		errs = append(errs, condition(path.Child("condition"), c)...)
	}
	if n := g.NoPods; n != nil {
		errs = append(errs, rules.Selector(path.Child("noPods", "selector"), n.Selector)...)
	}
	return errs
}

func probe(path rules.Path, p *autorebootv1.Probe) field.ErrorList {
	outside := ptr.Deref(p.Host, "")
	errs := append(rules.Check(path, &p.Check, outside), rules.CheckedPort(path, &p.Check, outside != "")...)
	return append(errs, host(path.Child("host"), outside)...)
}

// host checks that a name is an IP address or a DNS name. The egress policy decides at each request whether it may be
// connected to.
func host(path rules.Path, name string) field.ErrorList {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	return subdomain(path, name)
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
