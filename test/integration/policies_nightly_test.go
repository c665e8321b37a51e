// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestPoliciesRefuseWhatTheWebhooksWouldAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newBareSuite(t)
	s.grantRights()
	stored := map[string]*unstructured.Unstructured{}
	for _, cases := range policyCases() {
		for name, c := range cases {
			if c.old != "" {
				stored[name] = s.policyObject(c, name, c.old, c.stored)
				s.Must(s.Client.Create(s.Context(), stored[name]))
			}
		}
	}
	policies, bindings := s.boundPolicies()
	if len(policies) != len(policyCases()) || len(bindings) != len(policies) {
		t.Fatalf("%d policies, %d bindings", len(policies), len(bindings))
	}
	var manifests []string
	for _, object := range append(policies, bindings...) {
		manifests = append(manifests, framework.Text(object.Object))
	}
	s.Apply(strings.Join(manifests, "\n---\n"), "--server-side")
	for policy, cases := range policyCases() {
		refused := slices.DeleteFunc(slices.Sorted(maps.Keys(cases)), func(name string) bool { return cases[name].refusal == "" })
		accepted := slices.DeleteFunc(slices.Sorted(maps.Keys(cases)), func(name string) bool { return cases[name].refusal != "" })
		s.Eventually(func() error { return s.writePolicyCase(policy, cases[refused[0]], refused[0], stored[refused[0]]) }) // it is in force
		for _, name := range append(refused, accepted...) {
			s.soon(func() error { return s.writePolicyCase(policy, cases[name], name, stored[name]) })
		}
	}
}
