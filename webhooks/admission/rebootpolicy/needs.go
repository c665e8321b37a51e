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

// The remedies of fields that need a right, in addition to those of package authorization.
const (
	withoutSource  = "leave the source out"
	withoutTrigger = "leave the trigger out"
	withoutGate    = "leave the gate out"
)

// collector collects the needs of a spec.
type collector struct{ authorization.Needs }

// needs lists the rights that a writer of spec needs: to do what the policy does, and to see what its status reveals.
// With a ServiceAccount, the right to use it replaces the first. References of a workload (discovery Referenced) need
// no right. The status only shows that they changed, and a user who may patch the workload can make it refer to
// anything. at is the path of the spec in its object. namespace is "" for the spec of a template, which is for all
// namespaces.
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

// restarts adds what restarting the targets needs. The API server reviews the rights of a ServiceAccount at every
// restart, so its name needs only the right to use it. The operator still reads the targets in its own name.
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

// runs adds what a restart of a CronJob or a Job needs. It creates a Job from the object that it reads, and deletes an
// old Job before.
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

// gate adds the right to read what opens the gate, since the policy's status shows it. A type that is not listed here
// needs every right: a new type without rights of its own is thus open to administrators only.
func (n *collector) gate(path *field.Path, g *autorebootv1.Gate) {
	switch {
	case g.Type == autorebootv1.GateApproval, g.PrometheusQueryEmpty != nil:
		// An approval reads nothing. For a Prometheus query, an administrator has named the server and what a namespace may
		// query.
	case g.NoPods != nil:
		n.Add(path, withoutGate, "list", "", "pods", "", "")
	case g.Condition != nil:
		resource := rules.ResourceOf(g.Condition)
		n.Add(path, withoutGate, "get", resource.Group, resource.Resource, "", g.Condition.Name)
	default:
		n.Add(path, withoutGate, "*", "*", "*", "", "")
	}
}

// sourceOf returns the resource that a source is read from, and the name of one object. It returns every resource for a
// kind that is not listed here. For a SecretProviderClass, each pod has an object with what it has mounted.
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

// nameOf returns the name of the one object that is selected, or "" for any. Which objects a selector matches depends
// on the users who set their labels.
func nameOf(name string, selector *common.LabelSelector) string {
	if selector != nil {
		return ""
	}
	return name
}

// reading returns the verb that reads one object, or all objects of a namespace.
func reading(name string) string {
	if name == "" {
		return "list"
	}
	return "get"
}
