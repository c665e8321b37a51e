// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// need is a right that a part of a policy takes, and what else could be written there.
type need struct {
	path   *field.Path
	right  authorizationv1.ResourceAttributes
	remedy string
}

// needs collects what a policy takes.
type needs struct {
	namespace string
	list      []need
}

// What can be written instead of a part that takes a right.
const (
	byAccount      = "name a ServiceAccount that has it in spec.serviceAccountName"
	withoutAccount = "name another ServiceAccount, or leave the field out if you have the rights yourself"
	anotherTarget  = "name another target"
	withoutSource  = "leave the source out"
	withoutTrigger = "leave the trigger out"
	withoutGate    = "leave the gate out"
)

// needsOf lists what a writer of spec must be entitled to: to do what the policy does, or to have a
// ServiceAccount do it, and to see what the policy's status tells of what the operator reads. What a
// workload refers to (discovery Referenced) takes no right of its own: all that is told is that it
// changed, and a user who may patch the workload, or have it patched, can make it refer to anything.
func needsOf(spec *autorebootv1.RebootPolicySpec, namespace string) []need {
	n := &needs{namespace: namespace}
	at := field.NewPath("spec")
	n.restarts(at, spec)
	for i := range spec.Triggers {
		n.trigger(at.Child("triggers").Index(i), &spec.Triggers[i])
	}
	for i := range spec.Gates {
		g, path := &spec.Gates[i], at.Child("gates").Index(i)
		switch g.Type {
		case autorebootv1.GateNoPods:
			n.add(path, withoutGate, "list", "", "pods", "", "")
		case autorebootv1.GateExternalServiceHealthy:
			n.add(path, withoutGate, "get", networkingv1.GroupVersion.Group, "externalservices", "", g.Name)
		default:
			n.add(path, withoutGate, "get", "apps", resourceOf(g.Kind), "", g.Name)
		}
	}
	return n.list
}

// restarts is what it takes to restart the targets. A ServiceAccount's rights are asked for at every
// restart, so that its name takes the right to use it alone; what the targets are is still read in the
// operator's name.
func (n *needs) restarts(at *field.Path, spec *autorebootv1.RebootPolicySpec) {
	evicts := spec.Strategy != nil && spec.Strategy.Type == autorebootv1.StrategyEvict
	switch account := spec.ServiceAccountName; {
	case account != "":
		n.add(at.Child("serviceAccountName"), withoutAccount, "impersonate", "", "serviceaccounts", "", account)
	case evicts:
		n.add(at.Child("strategy", "type"), byAccount, "create", "", "pods", "eviction", "")
		n.add(at.Child("strategy", "type"), byAccount, "get", "", "pods", "", "")
		return
	}
	for i := range spec.Targets {
		t, path := &spec.Targets[i], at.Child("targets").Index(i)
		name := nameOf(t.Name, t.Selector)
		if spec.ServiceAccountName == "" {
			n.add(path, byAccount, "patch", "apps", resourceOf(t.Kind), "", name)
			continue
		}
		n.add(path, anotherTarget, reading(name), "apps", resourceOf(t.Kind), "", name)
	}
}

func (n *needs) trigger(path *field.Path, t *autorebootv1.Trigger) {
	if c := t.ConfigChange; c != nil {
		for i := range c.Sources {
			s := &c.Sources[i]
			name := nameOf(s.Name, s.Selector)
			n.add(path.Child("configChange", "sources").Index(i), withoutSource, reading(name), "", strings.ToLower(string(s.Kind))+"s", "", name)
		}
	}
	if c := t.CertificateRenewal; c != nil {
		n.add(path.Child("certificateRenewal", "secretName"), withoutTrigger, reading(c.SecretName), "", "secrets", "", c.SecretName)
	}
	if p := t.Probe; p != nil && p.Exec != nil {
		n.add(path.Child("probe", "exec"), withoutTrigger, "create", "", "pods", "exec", "")
	}
	if e := t.EndpointsChange; e != nil {
		n.add(path.Child("endpointsChange", "externalServiceName"), withoutTrigger,
			"get", networkingv1.GroupVersion.Group, "externalservices", "", e.ExternalServiceName)
	}
}

func (n *needs) add(path *field.Path, remedy, verb, group, resource, subresource, name string) {
	n.list = append(n.list, need{path, authorizationv1.ResourceAttributes{
		Namespace: n.namespace, Verb: verb, Group: group, Version: "v1", Resource: resource, Subresource: subresource, Name: name,
	}, remedy})
}

// resourceOf is the resource of a kind of apps/v1.
func resourceOf(kind autorebootv1.TargetKind) string { return strings.ToLower(string(kind)) + "s" }

// nameOf is the one object that is meant, or "" for any: with a selector, the objects that it matches
// are chosen by those who set their labels.
func nameOf(name string, selector *common.LabelSelector) string {
	if selector != nil {
		return ""
	}
	return name
}

// reading is the verb that shows one object, or those of a namespace.
func reading(name string) string {
	if name == "" {
		return "list"
	}
	return "get"
}

// refusal says which right is lacking where, and what to do.
func (n need) refusal(user string) *field.Error {
	r := n.right
	what := r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	if r.Group != "" {
		what += "." + r.Group
	}
	where := fmt.Sprintf("in all of namespace %q", r.Namespace)
	if r.Name != "" {
		where = fmt.Sprintf("%q in namespace %q", r.Name, r.Namespace)
	}
	return field.Forbidden(n.path, fmt.Sprintf("user %s may not %s %s %s, and the operator does not do that for those who may not; ask for that right, or %s",
		user, r.Verb, what, where, n.remedy))
}
