// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Warnings returns what is valid and probably a mistake. For an update, it warns only of what the update adds: users do
// not read warnings that repeat at every write.
func Warnings(obj, old *autorebootv1.RebootPolicy) []string {
	texts := rules.NewWarnings(obj, old, warnings)
	if old == nil || old.Status.ObservedGeneration <= 0 {
		texts = append(texts, rules.EarlyRequest(obj, autorebootv1.RestartNowAnnotation)...)
	}
	return texts
}

func warnings(obj *autorebootv1.RebootPolicy) []string {
	var texts []string
	warn := func(path rules.Path, format string, args ...any) {
		texts = append(texts, path.Field().String()+": "+fmt.Sprintf(format, args...))
	}
	texts = append(texts, selectsAll(&obj.Spec)...)
	if len(obj.Spec.Triggers) == 0 && len(ExternalServices(&obj.Spec)) == 0 {
		warn(specPath.Child("triggers"), "without any, only the annotation %s restarts a target", autorebootv1.RestartNowAnnotation)
	}
	for i := range obj.Spec.Triggers {
		t := &obj.Spec.Triggers[i]
		if c := t.ConfigChange; c != nil && c.OnDelete != nil && *c.OnDelete == autorebootv1.SourceRestart {
			warn(specPath.Child("triggers").Index(i).Child("configChange", "onDelete"),
				"a restart waits while a source is missing that the pods require (SourceMissing): Restart has an effect only for sources that they refer to as optional, or not at all")
		}
		if t.Probe == nil {
			continue
		}
		at := specPath.Child("triggers").Index(i).Child("probe")
		if host := ptr.Deref(t.Probe.Host, ""); rules.InCluster(host) {
			warn(at.Child("host"), "%s resolves to an address inside the cluster, where the egress policy lets a probe in only if an administrator allowed it; without host, the probe checks every pod of the target", host)
		}
		texts = append(texts, rules.CheckWarnings(at, &t.Probe.Check)...)
	}
	if v := obj.Spec.Verification; v != nil {
		texts = append(texts, rules.VerificationWarnings(specPath.Child("verification"), &v.Verification, "the restart fails")...)
	}
	if s := obj.Spec.Strategy; s != nil && s.Evict != nil && none(s.Evict.MaxUnavailable) {
		warn(specPath.Child("strategy", "evict", "maxUnavailable"), "%s never evicts a pod; use spec.suspend to pause", s.Evict.MaxUnavailable)
	}
	if c := obj.Spec.Concurrency; c != nil && none(c.MaxTargets) {
		warn(specPath.Child("concurrency", "maxTargets"), "%s never restarts a target; use spec.suspend to pause", c.MaxTargets)
	}
	texts = append(texts, rules.NeverOpen(&obj.Spec.Calendar, "no restart ever starts")...)
	expressions := map[string]common.Cron{}
	for i := range rules.Within(obj.Spec.Triggers) {
		if s := obj.Spec.Triggers[i].Schedule; s != nil {
			path := fmt.Sprintf("spec.triggers[%d].schedule.cron", i)
			expressions[path] = s.Cron
			texts = append(texts, rules.NeverInTime(path, s.Cron, s.TimeZone, s.StartingDeadline, &obj.Spec.Calendar)...)
		}
	}
	return append(texts, rules.CronSurprises(expressions, &obj.Spec.Calendar)...)
}

// selectsAll warns of the empty selectors of a spec, which select more than their author may see.
func selectsAll(spec *autorebootv1.RebootPolicySpec) []string {
	var texts []string
	for i := range spec.Targets {
		t := &spec.Targets[i]
		kinds := KindsOf(t)
		what := "every " + string(kinds[0])
		if len(kinds) > 1 {
			what = "every Deployment, StatefulSet and DaemonSet"
		}
		if ptr.Deref(t.OptIn, autorebootv1.OptInAll) == autorebootv1.OptInAnnotation {
			continue // the workloads themselves request restarts
		}
		at := specPath.Child("targets").Index(i).Child("selector")
		texts = append(texts, rules.SelectsAll(at, t.Selector, what+" of the namespace is restarted")...)
	}
	for i := range spec.Triggers {
		c := spec.Triggers[i].ConfigChange
		if c == nil {
			continue
		}
		for j := range c.Sources {
			at := specPath.Child("triggers").Index(i).Child("configChange", "sources").Index(j).Child("selector")
			texts = append(texts, rules.SelectsAll(at, c.Sources[j].Selector,
				"every "+string(c.Sources[j].Kind)+" of the namespace is watched, those of Kubernetes included")...)
		}
	}
	for i := range spec.Gates {
		if n := spec.Gates[i].NoPods; n != nil {
			texts = append(texts, rules.SelectsAll(specPath.Child("gates").Index(i).Child("noPods", "selector"), n.Selector,
				"no restart starts while any pod of the namespace runs, those of the targets included")...)
		}
	}
	return texts
}

func none(v *intstr.IntOrString) bool {
	return v != nil && (*v == intstr.FromInt32(0) || *v == intstr.FromString("0%"))
}
