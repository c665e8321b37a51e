// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/secretsstore"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// What can be written instead of a field that needs a right, beside what authorization names.
const (
	withoutSource  = "leave the source out"
	withoutTrigger = "leave the trigger out"
	withoutGate    = "leave the gate out"
)

// collector collects the needs of a spec.
type collector struct{ authorization.Needs }

// needs lists the rights that a writer of spec needs: to do what the policy does, or to have a ServiceAccount
// do it, and to see what the policy's status shows of what the operator reads. What a workload refers to
// (discovery Referenced) needs no right of its own: the status only shows that it changed, and a user who may
// patch the workload, or have it patched, can make it refer to anything.
// The spec is at a path of its object; namespace is "" for that of a template, which is for all namespaces.
func needs(at *field.Path, spec *autorebootv1.RebootPolicySpec, namespace string) []authorization.Need {
	n := &collector{authorization.Needs{Namespace: namespace}}
	n.restarts(at, spec)
	for i := range spec.Triggers {
		n.trigger(at.Child("triggers").Index(i), &spec.Triggers[i])
	}
	for i := range spec.Gates {
		n.gate(at.Child("gates").Index(i), &spec.Gates[i])
	}
	if v := spec.Verification; v != nil {
		n.AddVerification(at, &v.Verification)
	}
	return n.List
}

// restarts adds what restarting the targets needs. The rights of a ServiceAccount are reviewed at every
// restart, so that its name needs only the right to use it; the targets are still read in the operator's
// name.
func (n *collector) restarts(at *field.Path, spec *autorebootv1.RebootPolicySpec) {
	evicts := spec.Strategy != nil && spec.Strategy.Type == autorebootv1.StrategyEvict
	switch account := spec.ServiceAccountName; {
	case account != "":
		n.Add(at.Child("serviceAccountName"), authorization.NameAnotherServiceAccount, "impersonate", "", "serviceaccounts", "", account)
	case evicts:
		n.Add(at.Child("strategy", "type"), authorization.NameServiceAccount(at), "create", "", "pods", "eviction", "")
		n.Add(at.Child("strategy", "type"), authorization.NameServiceAccount(at), "get", "", "pods", "", "")
		return
	}
	for i := range spec.Targets {
		t, path := &spec.Targets[i], at.Child("targets").Index(i)
		name := nameOf(t.Name, t.Selector)
		remedy, verb := authorization.NameServiceAccount(at), "patch"
		if spec.ServiceAccountName != "" {
			remedy, verb = authorization.NameAnotherTarget, reading(name)
		}
		for _, kind := range rules.KindsOf(t) {
			if kind.Group() == common.BatchGroup && spec.ServiceAccountName == "" {
				n.runs(path, remedy, kind, name)
				continue
			}
			n.Add(path, remedy, verb, kind.Group(), kind.Resource(), "", name)
		}
	}
}

// runs adds what a restart of a CronJob or a Job does: a Job is created from what is read, and a Job is deleted before.
func (n *collector) runs(path *field.Path, remedy string, kind common.WorkloadKind, name string) {
	n.Add(path, remedy, reading(name), common.BatchGroup, kind.Resource(), "", name)
	n.Add(path, remedy, "create", common.BatchGroup, common.WorkloadJob.Resource(), "", "")
	if kind == common.WorkloadJob {
		n.Add(path, remedy, "delete", common.BatchGroup, kind.Resource(), "", name)
	}
}

func (n *collector) trigger(path *field.Path, t *autorebootv1.Trigger) {
	if c := t.ConfigChange; c != nil {
		for i := range c.Sources {
			s := &c.Sources[i]
			group, resource, name := sourceOf(s)
			n.Add(path.Child("configChange", "sources").Index(i), withoutSource, reading(name), group, resource, "", name)
		}
	}
	if c := t.CertificateRenewal; c != nil {
		n.Add(path.Child("certificateRenewal", "secretName"), withoutTrigger, reading(c.SecretName), "", "secrets", "", c.SecretName)
	}
	if t.Probe != nil {
		n.AddCheck(path.Child("probe"), &t.Probe.Check)
	}
	if e := t.EndpointsChange; e != nil {
		n.Add(path.Child("endpointsChange", "externalServiceName"), withoutTrigger,
			"get", networkingv1.GroupVersion.Group, "externalservices", "", e.ExternalServiceName)
	}
}

// gate adds the right to read what decides whether a gate is open: the policy's status shows it. A type that is
// not listed here takes every right, so that one which is added without its right is open to administrators alone.
func (n *collector) gate(path *field.Path, g *autorebootv1.Gate) {
	switch {
	case g.Type == autorebootv1.GateApproval, g.PrometheusQueryEmpty != nil:
		// The one reads nothing; of the other, the administrator has named the server and what of it a namespace may ask.
	case g.NoPods != nil:
		n.Add(path, withoutGate, "list", "", "pods", "", "")
	case g.Condition != nil:
		resource := rules.ResourceOf(g.Condition)
		n.Add(path, withoutGate, "get", resource.Group, resource.Resource, "", g.Condition.Name)
	default:
		n.Add(path, withoutGate, "*", "*", "*", "", "")
	}
}

// sourceOf returns the resource that a source is read from, and the name of one object; every resource for a kind that is not
// listed here. What pods have mounted of a SecretProviderClass is in an object for each pod.
func sourceOf(s *autorebootv1.ConfigSource) (group, resource, name string) {
	name = nameOf(s.Name, s.Selector)
	switch s.Kind {
	case autorebootv1.SourceConfigMap:
		return "", "configmaps", name
	case autorebootv1.SourceSecret:
		return "", "secrets", name
	case autorebootv1.SourceSecretProviderClass:
		return secretsstore.GroupVersion.Group, secretsstore.Resource, ""
	default:
		return "*", "*", name
	}
}

// nameOf returns the one object that is meant, or "" for any: which objects a selector matches is decided by
// those who set their labels.
func nameOf(name string, selector *common.LabelSelector) string {
	if selector != nil {
		return ""
	}
	return name
}

// reading returns the verb that reads one object, or those of a namespace.
func reading(name string) string {
	if name == "" {
		return "list"
	}
	return "get"
}
