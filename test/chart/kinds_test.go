// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// allKinds are in the order in which the chart names those that it leaves out.
var allKinds = []string{"ExternalService", "RebootPolicy", "ChaosPod"}

// Each of the seven ways to name kinds is in one of the layouts, and in one of two ways to have canaries.
func TestTheChartHasTheKindsThatItIsTold(t *testing.T) {
	options := []string{"admission-policy", "prometheus/rules"}
	layouts := []struct {
		overlay Overlay
		values  map[string]any
	}{
		{Overlay{Resources: []string{"default"}}, map[string]any{}},
		{Overlay{Resources: []string{"split"}}, map[string]any{"layout": "split"}},
		{Overlay{Resources: []string{"default"}, Namespaces: []string{"shop"}}, map[string]any{"namespaces": []any{"shop"}}},
	}
	enabled := map[string]any{"enabled": true}
	for bits := 1; bits < 1<<len(allKinds); bits++ {
		layout := layouts[bits%len(layouts)]
		overlay, kinds := layout.overlay, []any{}
		overlay.Components = slices.Clone(options)
		layout.values["admissionPolicies"], layout.values["prometheusRules"] = enabled, enabled
		for i, kind := range allKinds {
			if bits&(1<<i) != 0 {
				kinds = append(kinds, kind)
			} else {
				overlay.Components = append(overlay.Components, "without/"+strings.ToLower(kind))
			}
		}
		layout.values["kinds"], layout.values["canaries"] = kinds, bits%2 == 0
		if bits%2 == 1 {
			overlay.Components = append(overlay.Components, "without/canaries")
		}
		built, err := Build(config, overlay)
		if err != nil {
			t.Fatal(err)
		}
		manifests, err := render(t, generated(t), "fairlead-system", layout.values)
		if err != nil {
			t.Fatal(err)
		}
		objects := objectsOf(t, manifests)
		same(t, sorted(t, index(built)), sorted(t, objects))
		for i, kind := range allKinds {
			if has := strings.Contains(strings.ToLower(names(objects)), strings.ToLower(kind)); has != (bits&(1<<i) != 0) {
				t.Errorf("%q: an object has %s in its name: %t", kinds, kind, has)
			}
		}
	}
}

// sorted sorts the arguments of Deployments: the chart has its own before those of config/namespaced.
func sorted(t *testing.T, objects map[string]*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if err != nil {
			t.Fatal(err)
		}
		container := containers[0].(map[string]any)
		slices.SortFunc(container["args"].([]any), func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		if err := unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// names are those of all objects and webhooks.
func names(objects map[string]*unstructured.Unstructured) string {
	var all strings.Builder
	for id, o := range objects {
		all.WriteString(id + "\n")
		hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, hook := range hooks {
			all.WriteString(hook.(map[string]any)["name"].(string) + "\n")
		}
	}
	return all.String()
}
