// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// clusterRoles are those of the kustomizations that users install, by name.
func clusterRoles(t *testing.T) map[string]rbacv1.ClusterRole {
	t.Helper()
	roles := map[string]rbacv1.ClusterRole{}
	for _, folder := range []string{"rbac", "split"} {
		paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, document := range bytes.Split(content, []byte("\n---\n")) {
				var role rbacv1.ClusterRole
				if err := yaml.Unmarshal(document, &role); err == nil && role.Kind == "ClusterRole" {
					roles[role.Name] = role
				}
			}
		}
	}
	if len(roles) == 0 {
		t.Fatal("found no ClusterRole")
	}
	return roles
}

// The names of ClusterRoles are shared by all operators of a cluster.
func TestEachClusterRoleCarriesOurPrefix(t *testing.T) {
	for name := range clusterRoles(t) {
		if !strings.HasPrefix(name, "fairlead-") {
			t.Errorf("ClusterRole %s: begins with no fairlead-: another operator may install a role of this name", name)
		}
	}
}

// Kubernetes' own roles end in edit and view.
func TestEachKindHasARoleToEditAndOneToView(t *testing.T) {
	roles := clusterRoles(t)
	for _, kind := range storedKinds(t) {
		edit, view := "fairlead-"+strings.ToLower(kind.Kind)+"-edit", "fairlead-"+strings.ToLower(kind.Kind)+"-view"
		for name, want := range map[string]bool{edit: false, view: true} {
			role, found := roles[name]
			if !found {
				t.Errorf("there is no ClusterRole %s", name)
				continue
			}
			if got := role.Labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true"; got != want {
				t.Errorf("ClusterRole %s: part of the built-in role view: %t, want %t", name, got, want)
			}
			if writes := slices.Contains(role.Rules[0].Verbs, "create"); writes == want {
				t.Errorf("ClusterRole %s: may create: %t", name, writes)
			}
		}
	}
}
