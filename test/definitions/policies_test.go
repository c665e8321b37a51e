// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"bytes"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// A policy with a function of a later version could not be created.
func TestTheOldestAPIServerCompilesEveryPolicy(t *testing.T) {
	files, err := filepath.Glob("../../config/admission-policy/*.yaml")
	if err != nil || len(files) != 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			var policy admissionv1.ValidatingAdmissionPolicy
			if err := yaml.UnmarshalStrict(bytes.Split(read(t, file), []byte("\n---\n"))[0], &policy); err != nil {
				t.Fatal(err)
			}
			compile(t, &policy.Spec)
		})
	}
}

// compile compiles the expressions of a policy as the API server does that creates it.
func compile(t *testing.T, policy *admissionv1.ValidatingAdmissionPolicySpec) {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
	if err != nil {
		t.Fatal(err)
	}
	options := cel.OptionalVariableDeclarations{HasAuthorizer: true, StrictCost: true}
	for _, v := range policy.Variables {
		variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
		if result := compiler.CompileAndStoreVariable(variable, options, environment.NewExpressions); result.Error != nil {
			t.Errorf("variable %s: %v", v.Name, result.Error)
		}
	}
	var conditions, messages []cel.ExpressionAccessor
	for i := range policy.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.MatchConditions[i]))
	}
	for _, v := range policy.Validations {
		conditions = append(conditions, &validating.ValidationCondition{Expression: v.Expression})
		if v.MessageExpression != "" {
			messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
		}
	}
	problems := compiler.CompileCondition(conditions, options, environment.NewExpressions).CompilationErrors()
	options.HasAuthorizer = false
	for _, problem := range append(problems, compiler.CompileCondition(messages, options, environment.NewExpressions).CompilationErrors()...) {
		t.Error(problem)
	}
}
