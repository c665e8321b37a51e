// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// hooks are the objects that `helm test` makes.
func hooks(t *testing.T, namespace string, values map[string]any) map[string]*unstructured.Unstructured {
	t.Helper()
	made, err := installed(t, generated(t), namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*unstructured.Unstructured{}
	for _, h := range made.Hooks {
		if !slices.Equal(h.Events, []releasev1.HookEvent{releasev1.HookTest}) || len(h.DeletePolicies) != 2 {
			t.Errorf("%s: is a hook of %v, deleted %v", h.Path, h.Events, h.DeletePolicies)
		}
		for id, o := range objectsOf(t, h.Manifest) {
			byID[id] = o
		}
	}
	return byID
}

func TestHelmTestRunsTheCheckWithTheRightsToLook(t *testing.T) {
	values := map[string]any{"fullnameOverride": "team-fairlead", "namespaces": []any{"shop", "billing"}, "imagePullSecrets": []any{map[string]any{"name": "pull"}}}
	byID := hooks(t, "team-system", values)
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(byID["Pod team-system/team-fairlead-check"].Object, &pod); err != nil {
		t.Fatal(err)
	}
	container := pod.Spec.Containers[0]
	if container.Image != "fairlead:v1.2.3" || !slices.Contains(container.Args, "--namespace=shop") || !slices.Contains(container.Args, "--operator-namespace=team-system") {
		t.Errorf("%s %q", container.Image, container.Args)
	}
	if pod.Spec.ServiceAccountName != "team-fairlead-check" || pod.Labels["app.kubernetes.io/name"] == "fairlead" || len(pod.Spec.ImagePullSecrets) != 1 {
		t.Errorf("%+v", pod)
	}
	roles := 0
	for id, o := range byID {
		if !strings.HasSuffix(o.GetKind(), "Role") {
			continue
		}
		roles++
		var role rbacv1.Role
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			created := slices.Equal(rule.Verbs, []string{"create"})
			own := strings.HasSuffix(rule.APIGroups[0], ".fairlead.dev") && o.GetNamespace() == "shop" ||
				slices.Contains([]string{"subjectaccessreviews", "clusterrebootpolicies"}, rule.Resources[0]) // which have no namespace
			if looks := slices.Equal(rule.Verbs, []string{"get"}) || slices.Equal(rule.Verbs, []string{"list"}); !looks && (!created || !own) || slices.Contains(rule.Resources, "secrets") {
				t.Errorf("%s may %v", id, rule)
			}
		}
	}
	if roles != 3 || len(byID) != 8 {
		t.Errorf("%d roles among %d objects", roles, len(byID))
	}
	if byID := hooks(t, "a", nil); byID["Role default/fairlead-check-dry-run"] == nil {
		t.Errorf("%v", byID)
	}
	values["clusterRole"] = false
	if byID := hooks(t, "team-system", values); len(byID) != 0 {
		t.Errorf("without a ClusterRole there are %d objects", len(byID))
	}
}
