// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// right is one thing that a subject may do.
type right struct {
	namespace             string // empty: in all, and of what has none
	group, resource, name string // an empty name: any
	verb                  string
}

func (r right) String() string {
	return fmt.Sprintf("%s %s.%s %q in %q", r.verb, r.resource, r.group, r.name, r.namespace)
}

// covers reports whether who has r may do other.
func (r right) covers(other right) bool {
	return r.group == other.group && r.resource == other.resource && r.verb == other.verb &&
		(r.name == "" || r.name == other.name) && (r.namespace == "" || r.namespace == other.namespace)
}

func coveredBy(rights []right, one right) bool {
	return slices.ContainsFunc(rights, func(r right) bool { return r.covers(one) })
}

// rights are those of all roles in files of a kind.
func rights(t *testing.T, paths ...string) (all []right) {
	t.Helper()
	for _, path := range paths {
		for _, document := range documents(t, path) {
			var role rbacv1.Role // a ClusterRole is one without a namespace
			if err := yaml.Unmarshal(document, &role); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for _, rule := range role.Rules {
				if len(rule.ResourceNames) == 0 {
					rule.ResourceNames = []string{""}
				}
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						for _, name := range rule.ResourceNames {
							for _, verb := range rule.Verbs {
								all = append(all, right{role.Namespace, group, resource, name, verb})
							}
						}
					}
				}
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("%q hold no rights", paths)
	}
	return all
}

// documents are those of a file.
func documents(t *testing.T, path string) [][]byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimPrefix(content, []byte("---\n")), []byte("\n---\n"))
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %q, %v", pattern, paths, err)
	}
	return paths
}

// generated are the rights of the operator as it is installed, with all kinds.
func generated(t *testing.T) []right {
	t.Helper()
	return rights(t, append(files(t, "rbac/*_manager_role.yaml"), "rbac/role.yaml")...)
}

func rightsOfReconcilers(t *testing.T) []right {
	t.Helper()
	return rights(t, append(files(t, "rbac/*_manager_role.yaml"), "split/manager_cluster_role.yaml", "split/manager_role.yaml")...)
}

func rightsOfWebhooks(t *testing.T) []right {
	t.Helper()
	return rights(t, append(files(t, "split/webhook_*role.yaml"), "split/webhook_kind_roles.yaml")...)
}

func TestSplitTheTwoHaveTheGeneratedRightsBetweenThemAndNoOthers(t *testing.T) {
	generated := generated(t)
	both := slices.Concat(rightsOfReconcilers(t), rightsOfWebhooks(t))
	for _, one := range generated {
		if !coveredBy(both, one) {
			t.Errorf("neither may %s, which rbac allows: give it to the one that needs it", one)
		}
	}
	for _, one := range both {
		if !coveredBy(generated, one) {
			t.Errorf("one of them may %s, which rbac does not allow", one)
		}
	}
}

// What both may do is little, and named here.
func TestSplitNeitherMayWhatOnlyTheOtherDoes(t *testing.T) {
	shared := map[string]bool{}
	for _, webhooks := range rightsOfWebhooks(t) {
		if coveredBy(rightsOfReconcilers(t), webhooks) {
			shared[webhooks.resource+": "+webhooks.verb] = true
		}
	}
	want := map[string]bool{
		"tokenreviews: create": true, "subjectaccessreviews: create": true, // metrics, for one
		"events: create": true, "events: patch": true,
		"services: get": true, "services: list": true, "services: watch": true, "endpointslices: list": true, "endpointslices: watch": true,
		"networkpolicies: list": true, "nodes: list": true, "nodes: watch": true, "pods: list": true, "pods: watch": true, "servicecidrs: list": true, "servicecidrs: watch": true,
		"rebootpolicies: list": true, "rebootpolicies: watch": true, "chaospods: list": true, "chaospods: watch": true,
		"customresourcedefinitions: get": true, "customresourcedefinitions: patch": true, "customresourcedefinitions: watch": true,
		// Reconcilers read Secrets wherever they are, and list none; the webhooks read theirs alone.
		"secrets: get": true, "secrets: create": true,
	}
	if diff := cmp.Diff(want, shared); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, one := range rightsOfWebhooks(t) {
		if one.resource == "secrets" && one.verb != "create" && (one.name == "" || one.namespace == "") {
			t.Errorf("webhooks may %s", one)
		}
	}
	for _, one := range rightsOfReconcilers(t) {
		if one.resource == "secrets" && !slices.Contains([]string{"get", "create"}, one.verb) {
			t.Errorf("reconcilers may %s", one)
		}
	}
}

func TestSplitEachAccountIsBoundToItsOwnRoles(t *testing.T) {
	account := deployment(t, "split/webhook_deployment.yaml").Template.Spec.ServiceAccountName
	if account == reconcilers(t).Template.Spec.ServiceAccountName {
		t.Errorf("both run as %s", account)
	}
	bound := map[string]bool{}
	for _, document := range documents(t, "split/webhook_role_binding.yaml") {
		var binding rbacv1.RoleBinding
		if err := yaml.UnmarshalStrict(document, &binding); err != nil {
			t.Fatal(err)
		}
		bound[binding.RoleRef.Kind+" "+binding.RoleRef.Name+" in "+binding.Namespace] = true
		want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: "fairlead-system"}}
		if diff := cmp.Diff(want, binding.Subjects); diff != "" {
			t.Errorf("%s %s: subjects (-want +got):\n%s", binding.Kind, binding.Namespace, diff)
		}
	}
	want := map[string]bool{"ClusterRole fairlead-webhook in ": true, "Role fairlead-webhook in fairlead-system": true}
	for _, kind := range storedKinds(t) {
		want["ClusterRole fairlead-"+strings.ToLower(kind.Kind)+"-webhook in "] = true
	}
	if diff := cmp.Diff(want, bound); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
