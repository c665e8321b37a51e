// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Warnings returns what is allowed and yet likely to be a mistake. On an update it warns only of
// what the update brings: a warning repeated at every write is not read.
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
		if member, name := probedHost(t.Probe); inCluster(name) {
			warn(at.Child(member, "host"), "%s resolves to an address inside the cluster, where the egress policy lets a probe in only if an administrator allowed it; without host every pod of the target is asked itself", name)
		}
		if t.Probe.Exec != nil {
			warn(at.Child("exec"), "exec probes are not supported yet: trigger %s never fires", t.Name)
		}
	}
	if s := obj.Spec.Strategy; s != nil && s.Evict != nil && none(s.Evict.MaxUnavailable) {
		warn(specPath.Child("strategy", "evict", "maxUnavailable"), "%s never evicts a pod; use spec.suspend to pause", s.Evict.MaxUnavailable)
	}
	if c := obj.Spec.Concurrency; c != nil && none(c.MaxTargets) {
		warn(specPath.Child("concurrency", "maxTargets"), "%s never restarts a target; use spec.suspend to pause", c.MaxTargets)
	}
	texts = append(texts, rules.NeverOpen(obj.Spec.Windows, obj.Spec.Blackouts, "no restart ever starts")...)
	for i := range obj.Spec.Triggers {
		if s := obj.Spec.Triggers[i].Schedule; s != nil {
			path := fmt.Sprintf("spec.triggers[%d].schedule.cron", i)
			texts = append(texts, rules.NeverInTime(path, s.Cron, ptr.Deref(s.TimeZone, ""), s.StartingDeadline, obj.Spec.Windows,
				obj.Spec.Blackouts)...)
		}
	}
	texts = append(texts, rules.LongSteps(schedules(&obj.Spec), obj.Spec.Windows, obj.Spec.Blackouts)...)
	return append(texts, ignoredAtV1(obj)...)
}

// selectsAll warns of the selectors of a spec that are empty: they select more than their author sees.
func selectsAll(spec *autorebootv1.RebootPolicySpec) []string {
	var texts []string
	for i := range spec.Targets {
		t := &spec.Targets[i]
		what := "every " + string(t.Kind)
		if t.Kind == "" {
			what = "every Deployment, StatefulSet and DaemonSet"
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

// schedules returns the expressions of the Schedule triggers, by their paths.
func schedules(spec *autorebootv1.RebootPolicySpec) map[string]string {
	all := map[string]string{}
	for i := range spec.Triggers {
		if s := spec.Triggers[i].Schedule; s != nil {
			all[fmt.Sprintf("spec.triggers[%d].schedule.cron", i)] = s.Cron
		}
	}
	return all
}

// probedHost returns which member of a probe names a host, and what it names.
func probedHost(p *autorebootv1.Probe) (member, name string) {
	switch {
	case p.HTTPGet != nil && p.HTTPGet.Host != "":
		return "httpGet", p.HTTPGet.Host
	case p.TCPSocket != nil && p.TCPSocket.Host != "":
		return "tcpSocket", p.TCPSocket.Host
	case p.GRPC != nil && p.GRPC.Host != "":
		return "grpc", p.GRPC.Host
	}
	return "", ""
}

// inCluster reports whether a name resolves into the cluster, or to the operator itself, wherever it is looked
// up. It is a hint: the address is checked when it is connected to.
func inCluster(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, ".svc.") || strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".cluster.local") ||
		name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func none(v *intstr.IntOrString) bool {
	return v != nil && (*v == intstr.FromInt32(0) || *v == intstr.FromString("0%"))
}

// ignoredAtV1 warns of what an object written at v1alpha1 says and v1 cannot: conversion keeps it
// in an annotation, where nothing acts on it.
func ignoredAtV1(obj *autorebootv1.RebootPolicy) []string {
	var kept struct {
		Spoke struct {
			Spec v1alpha1.RebootPolicySpec `json:"spec"`
		} `json:"spoke"`
	}
	data, has := obj.Annotations[common.V1Alpha1DataAnnotation]
	if !has || json.Unmarshal([]byte(data), &kept) != nil {
		return nil
	}
	var texts []string
	spec := &kept.Spoke.Spec
	for i := range spec.Policies {
		p := spec.Policies[i].Trigger.Probe
		if p == nil {
			continue
		}
		at := fmt.Sprintf("v1alpha1 spec.policies[%d].trigger.probe", i)
		if p.InitialDelaySeconds != nil {
			texts = append(texts, at+".initialDelaySeconds: ignored by v1 (kept so that v1alpha1 reads back the same): allow for a slow start with failureThreshold and periodSeconds")
		}
		if p.TerminationGracePeriodSeconds != nil {
			texts = append(texts, at+".terminationGracePeriodSeconds: ignored by v1 (kept so that v1alpha1 reads back the same): pods end as their own spec says")
		}
		if h := p.HTTPGet; h != nil && h.Port.Type == intstr.String {
			texts = append(texts, namedPort(at+".httpGet.port", h.Port.StrVal))
		}
		if s := p.TCPSocket; s != nil && s.Port.Type == intstr.String {
			texts = append(texts, namedPort(at+".tcpSocket.port", s.Port.StrVal))
		}
	}
	return texts
}

func namedPort(at, name string) string {
	return fmt.Sprintf("%s: %q is the name of a port, and v1 takes numbers alone: give its number", at, name)
}
