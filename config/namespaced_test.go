// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// watched is where the operator has a Role of config/namespaced/rights.
const watched = "a namespace of users"

func rightsNamespaced(t *testing.T) (inCluster, inNamespaces, own []right) {
	t.Helper()
	inCluster = rights(t, files(t, "namespaced/*cluster_role.yaml")...)
	for _, r := range rights(t, "namespaced/rights/role.yaml") {
		r.namespace = watched
		inNamespaces = append(inNamespaces, r)
	}
	for _, r := range generated(t) {
		if r.namespace != "" {
			own = append(own, r)
		}
	}
	return inCluster, inNamespaces, own
}

// What an operator of some namespaces does without is named here.
func TestNamespacedTheOperatorHasTheGeneratedRightsInSomeNamespacesAndNoOthers(t *testing.T) {
	inCluster, inNamespaces, own := rightsNamespaced(t)
	all := slices.Concat(inCluster, inNamespaces, own)
	without := map[string]bool{}
	generated := generated(t)
	for _, one := range generated {
		there := one
		if there.namespace == "" && !coveredBy(inCluster, one) {
			there.namespace = watched
		}
		if !coveredBy(all, there) {
			without[one.resource+": "+one.verb] = true
		}
	}
	want := map[string]bool{
		// The addresses of the cluster are configured.
		"nodes: get": true, "nodes: list": true, "nodes: watch": true,
		"servicecidrs: get": true, "servicecidrs: list": true, "servicecidrs: watch": true,
		// There are no ClusterRebootPolicies.
		"clusterrebootpolicies: get": true, "clusterrebootpolicies: list": true, "clusterrebootpolicies: watch": true,
		"clusterrebootpolicies/status: update": true,
		"rebootpolicies: create":               true, "rebootpolicies: update": true, "rebootpolicies: delete": true,
		"rebootpolicies: approve": true,
		"namespaces: get":         true, "namespaces: list": true, "namespaces: watch": true,
	}
	if diff := cmp.Diff(want, without); diff != "" {
		t.Errorf("does without (-want +got):\n%s", diff)
	}
	for _, one := range slices.Concat(inCluster, inNamespaces) {
		if !coveredBy(generated, one) && one.resource != "localsubjectaccessreviews" {
			t.Errorf("may %s, which rbac does not allow", one)
		}
	}
}

func TestNamespacedEveryRightInTheWholeClusterIsToANameOrAQuestion(t *testing.T) {
	inCluster, inNamespaces, _ := rightsNamespaced(t)
	for _, one := range inCluster {
		if question := one.verb == "create" && (one.resource == "tokenreviews" || one.resource == "subjectaccessreviews"); one.name == "" && !question {
			t.Errorf("may %s", one)
		}
	}
	for _, one := range inNamespaces {
		if one.resource == "secrets" && one.verb != "get" {
			t.Errorf("may %s", one)
		}
	}
}

func TestNamespacedTheRolesAreBoundToTheOperator(t *testing.T) {
	account := deployment(t, "manager/deployment.yaml").Template.Spec.ServiceAccountName
	bound, roles := map[string]bool{}, map[string]bool{}
	for _, document := range documents(t, "namespaced/rights/role_binding.yaml") {
		var binding rbacv1.RoleBinding
		if err := yaml.UnmarshalStrict(document, &binding); err != nil {
			t.Fatal(err)
		}
		want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: "fairlead-system"}}
		if diff := cmp.Diff(want, binding.Subjects); diff != "" || binding.RoleRef.Kind != "Role" {
			t.Errorf("%+v, subjects (-want +got):\n%s", binding.RoleRef, diff)
		}
		bound[binding.RoleRef.Name] = true
	}
	for _, document := range documents(t, "namespaced/rights/role.yaml") {
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict(document, &role); err != nil {
			t.Fatal(err)
		}
		roles[role.Name] = true
	}
	if diff := cmp.Diff(roles, bound); diff != "" || len(roles) != 5 {
		t.Errorf("-roles +bound:\n%s", diff)
	}
}
