// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Need is a right that a field of an object needs, and what a user without it can write instead.
type Need struct {
	Path   *field.Path
	Right  authorizationv1.ResourceAttributes
	Remedy string
}

// Needs collects what an object needs.
type Needs struct {
	// Namespace of the object.
	Namespace string
	// List has the needs. It may have a right more than once.
	List []Need
}

// The remedies of fields that need a right: what to write instead.
const (
	NameAnotherServiceAccount = "name another ServiceAccount, or leave the field out if you have the rights yourself"
	NameAnotherTarget         = "name another target"
)

// NameServiceAccount returns the remedy for a spec with a field serviceAccountName.
func NameServiceAccount(spec *field.Path) string {
	return "name a ServiceAccount that has it in " + spec.Child("serviceAccountName").String()
}

// Add appends a need. An empty name means all objects of the namespace.
func (n *Needs) Add(path *field.Path, remedy, verb, group, resource, subresource, name string) {
	n.List = append(n.List, Need{path, authorizationv1.ResourceAttributes{
		Namespace: n.Namespace, Verb: verb, Group: group, Version: "v1", Resource: resource, Subresource: subresource, Name: name,
	}, remedy})
}

// AddVerification appends the rights to what verification.probes of a spec read; v may be nil.
func (n *Needs) AddVerification(spec *field.Path, v *common.Verification) {
	if v == nil {
		return
	}
	for i := range v.Probes {
		check := v.Probes[i].Check()
		n.AddCheck(spec.Child("verification", "probes").Index(i), &check)
	}
}

// AddCheck appends what a check reads.
func (n *Needs) AddCheck(path *field.Path, c *common.Check) {
	for _, s := range rules.CheckSecrets(path, c) {
		n.Add(s.Path, "leave "+s.Field+" out", "get", "", "secrets", "", s.Name)
	}
}

// refusal returns the error of a right that is lacking, with its field and its remedy.
func (n Need) refusal(user string) *field.Error {
	r := n.Right
	what := r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	if r.Group != "" {
		what += "." + r.Group
	}
	where := fmt.Sprintf("in all of namespace %q", r.Namespace)
	switch {
	case r.Namespace == "" && r.Name == "":
		where = "in all namespaces"
	case r.Namespace == "":
		where = fmt.Sprintf("%q in all namespaces", r.Name)
	case r.Name != "":
		where = fmt.Sprintf("%q in namespace %q", r.Name, r.Namespace)
	}
	return field.Forbidden(n.Path, fmt.Sprintf("user %s may not %s %s %s, and the operator does not do that for those who may not; ask for that right, or %s",
		user, r.Verb, what, where, n.Remedy))
}
