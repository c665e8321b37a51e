// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// excludedNamespaces are the namespaces in which no policy looks, the same as those of the webhooks. A user who may
// write there may do anything to the cluster already, and nothing may keep them from its repair.
var excludedNamespaces = []string{"kube-system", "fairlead-system"}

// Policy is a policy and its binding.
type Policy struct {
	Policy  *admissionv1.ValidatingAdmissionPolicy
	Binding *admissionv1.ValidatingAdmissionPolicyBinding
}

// Policies are all policies of a kind.
func Policies(kind Kind) ([]Policy, error) {
	stored, err := storedForm(kind)
	if err != nil {
		return nil, err
	}
	stored.conditions = []admissionv1.MatchCondition{notDeleted, {Name: "written-at-another-version", Expression: "request.requestKind.version != request.kind.version"}, specChanged}
	policies := []Policy{newPolicy(kind, "stored-form", stored)}
	for _, extra := range extras[kind.Name] {
		content := extra.content()
		content.conditions = []admissionv1.MatchCondition{notDeleted, specOrAnnotationsChanged}
		policies = append(policies, newPolicy(kind, extra.name, content))
	}
	return policies, nil
}

// extras are the policies of a kind beyond those on its stored form.
var extras = map[string][]struct {
	name    string
	content func() content
}{
	"ExternalService": {{"marks", externalServiceNames}, {"rights", externalServiceRights}},
	"RebootPolicy":    {{"marks", annotationsOnly}, {"rights", rebootPolicyRights}, {"reads", rebootPolicyReads}, {"gates", rebootPolicyGates}},
	"ChaosPod":        {{"marks", annotationsOnly}, {"rights", chaosPodRights}},
}

// content is what policies differ in.
type content struct {
	conditions  []admissionv1.MatchCondition
	variables   []admissionv1.Variable
	validations []admissionv1.Validation
}

// The conditions under which a policy looks at a request. They are those of the webhooks, except for the
// first: an object that is being deleted waits for nothing but its finalizers.
var (
	notDeleted               = admissionv1.MatchCondition{Name: "not-being-deleted", Expression: "!has(object.metadata.deletionTimestamp)"}
	specChanged              = admissionv1.MatchCondition{Name: "spec-changed", Expression: "request.operation != 'UPDATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}
	specOrAnnotationsChanged = admissionv1.MatchCondition{Name: "spec-or-annotations-changed", Expression: specChanged.Expression +
		" || has(object.metadata.annotations) != has(oldObject.metadata.annotations)" +
		" || (has(object.metadata.annotations) && object.metadata.annotations != oldObject.metadata.annotations)"}
)

func newPolicy(kind Kind, name string, c content) Policy {
	meta := metav1.ObjectMeta{Name: "fairlead-" + strings.ToLower(kind.Name) + "-" + name}
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		// No delete, and, since a resource is named without its subresources, no status.
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule: admissionv1.Rule{APIGroups: []string{kind.Group}, APIVersions: []string{hub}, Resources: []string{kind.Resource},
			Scope: ptr.To(admissionv1.NamespacedScope)},
	}}
	return Policy{
		Policy: &admissionv1.ValidatingAdmissionPolicy{
			TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
			ObjectMeta: meta,
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				// A policy runs inside the API server and is never away. It fails on an object that
				// has not even the types that its expressions expect.
				FailurePolicy: ptr.To(admissionv1.Fail),
				MatchConstraints: &admissionv1.MatchResources{
					ResourceRules: []admissionv1.NamedRuleWithOperations{rule},
					MatchPolicy:   ptr.To(admissionv1.Equivalent),
					NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
						Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: excludedNamespaces,
					}}},
				},
				MatchConditions: c.conditions,
				Variables:       c.variables,
				Validations:     c.validations,
			},
		},
		Binding: &admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
			ObjectMeta: meta,
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
	}
}

// define defines a variable, which expressions read as variables.<name>.
func (c *content) define(name, expression string, values ...any) {
	c.variables = append(c.variables, admissionv1.Variable{Name: name, Expression: fmt.Sprintf(expression, values...)})
}

// require adds a rule, with the reason Forbidden where it is one of rights.
func (c *content) require(message, expression string, values ...any) *admissionv1.Validation {
	c.validations = append(c.validations, admissionv1.Validation{Expression: fmt.Sprintf(expression, values...), Message: message})
	return &c.validations[len(c.validations)-1]
}

func (c *content) requireRight(message, expression string, values ...any) {
	c.require(message, expression, values...).Reason = ptr.To(metav1.StatusReasonForbidden)
}
