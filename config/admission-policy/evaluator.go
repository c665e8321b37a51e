// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Evaluator is a policy, compiled and bounded as in the API server. It is safe for use by many goroutines.
type Evaluator struct {
	kind      Kind
	validator validating.Validator
}

// NewEvaluator compiles a policy of a kind.
func NewEvaluator(kind Kind, policy *admissionv1.ValidatingAdmissionPolicy) (*Evaluator, error) {
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, fmt.Errorf("validatingadmissionpolicy %s: %w", policy.Name, err)
	}
	with := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	var errs []error
	for _, v := range policy.Spec.Variables {
		result := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, with, environment.NewExpressions)
		if result.Error != nil {
			errs = append(errs, fmt.Errorf("variable %s: %s", v.Name, result.Error.Detail))
		}
	}
	var conditions, validations []cel.ExpressionAccessor
	for i := range policy.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	for _, v := range policy.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
	}
	matched, judged := compiler.CompileCondition(conditions, with, environment.NewExpressions), compiler.CompileCondition(validations, with, environment.NewExpressions)
	none := compiler.CompileCondition(nil, with, environment.NewExpressions)
	if err := errors.Join(append(errs, errors.Join(matched.CompilationErrors()...), errors.Join(judged.CompilationErrors()...))...); err != nil {
		return nil, fmt.Errorf("validatingadmissionpolicy %s: %w", policy.Name, err)
	}
	matcher := matchconditions.NewMatcher(matched, policy.Spec.FailurePolicy, "policy", "validate", policy.Name)
	return &Evaluator{kind, validating.NewValidator(judged, matcher, none, none, policy.Spec.FailurePolicy, nil)}, nil
}

// Request is a write, in the form of the stored version.
type Request struct {
	// Object is the new state, and Old the one before; nil is a create.
	Object, Old map[string]any
	// Version is that of the client's request. Defaults to v1.
	Version string
	// User writes. Rights says what the user may do; nil allows everything.
	User   string
	Rights func(a authorizer.Attributes) bool
}

// Refusal is one rule that a request breaks.
type Refusal struct {
	Message string
	// Failed means that the rule could not be evaluated.
	Failed bool
}

// Evaluate returns what the policy has against a request.
func (j *Evaluator) Evaluate(ctx context.Context, r Request) []Refusal {
	object := &unstructured.Unstructured{Object: r.Object}
	gvk := schema.GroupVersionKind{Group: j.kind.Group, Version: hub, Kind: j.kind.Name}
	gvr := gvk.GroupVersion().WithResource(j.kind.Resource)
	asked, through := gvk, gvr
	if r.Version != "" {
		asked.Version, through.Version = r.Version, r.Version
	}
	versioned := &admission.VersionedAttributes{VersionedKind: gvk, VersionedObject: admission.NewLazyObject(object)}
	writer := &user.DefaultInfo{Name: r.User}
	if r.Old == nil {
		versioned.Attributes = admission.NewAttributesRecord(object, nil, asked, object.GetNamespace(), object.GetName(), through, "",
			admission.Create, &metav1.CreateOptions{}, false, writer)
	} else {
		old := &unstructured.Unstructured{Object: r.Old}
		versioned.VersionedOldObject = admission.NewLazyObject(old)
		versioned.Attributes = admission.NewAttributesRecord(object, old, asked, object.GetNamespace(), object.GetName(), through, "",
			admission.Update, &metav1.UpdateOptions{}, false, writer)
	}
	result := j.validator.Validate(ctx, gvr, versioned, nil, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}},
		celconfig.RuntimeCELCostBudget, rights(r.Rights))
	var found []Refusal
	for _, decision := range result.Decisions {
		if decision.Action == validating.ActionDeny {
			found = append(found, Refusal{decision.Message, decision.Evaluation == validating.EvalError})
		}
	}
	return found
}

// rights is the authorizer of a test.
type rights func(a authorizer.Attributes) bool

// Authorize allows what the function does, and everything where there is none.
func (f rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if f == nil || f(a) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}
