// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

func TestTheRestartOfAWorkloadIsThatOfThePolicyThatRestartsItAlone(t *testing.T) {
	policy := func(name string, targets ...string) client.Object {
		p := &v1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		for _, target := range targets {
			p.Status.Targets = append(p.Status.Targets, v1.TargetStatus{Kind: "Deployment", Name: target})
		}
		return p
	}
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(policy("one", "web"), policy("several", "api", "worker"), policy("two", "twice"), policy("three", "twice")).Build()
	for name, want := range map[string][]string{
		"web":   {"one"},
		"api":   {"", "RebootPolicy also restarts Deployment worker", "`fairlead restart rebootpolicy/several -n shop`", "`kubectl rollout restart deployment/api -n shop`"},
		"twice": {"", "more than one RebootPolicy restarts it: run `fairlead restart rebootpolicy/three -n shop` or `fairlead restart rebootpolicy/two -n shop`"},
		"db":    {"", "no RebootPolicy restarts it", "`kubectl rollout restart deployment/db -n shop`"},
	} {
		key, err := PolicyOf(t.Context(), c, inspect.Key{Kind: "Deployment", Namespace: "shop", Name: name}, "fairlead")
		if refusal := Refusal(""); key.Name != want[0] || (err != nil) != (want[0] == "") || err != nil && !errors.As(err, &refusal) {
			t.Errorf("%s: %v, %v", name, key, err)
		}
		for _, part := range want[1:] {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not say %q", name, err, part)
			}
		}
	}
}
