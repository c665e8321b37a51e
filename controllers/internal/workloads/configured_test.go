// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

var cloneSets = workloadkinds.Kind{
	GroupVersionKind: schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1alpha1", Kind: "CloneSet"}, Template: []string{"spec", "template"},
}

// cloneSet returns a CloneSet of three pods of its latest revision, with some of its fields replaced.
func cloneSet(t *testing.T, spec, status string) *unstructured.Unstructured {
	t.Helper()
	text := `{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, metadata: {name: web, namespace: shop, uid: u, generation: 3},
		spec: {replicas: 3, minReadySeconds: 5, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}, annotations: {autoreboot.fairlead.dev/restart-id: r1}},
		spec: {containers: [{name: main, image: none, envFrom: [{secretRef: {name: creds}}]}]}}},
		status: {observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3}}`
	object := map[string]any{}
	for _, part := range []string{text, "{spec: {" + spec + "}}", "{status: {" + status + "}}"} {
		var members map[string]any
		if err := yaml.Unmarshal([]byte(part), &members); err != nil {
			t.Fatal(err)
		}
		for name, value := range members {
			of, is := value.(map[string]any)
			if object[name] == nil || !is {
				object[name] = value
				continue
			}
			for member, value := range of {
				if value == nil {
					delete(object[name].(map[string]any), member)
				} else {
					object[name].(map[string]any)[member] = value
				}
			}
		}
	}
	u := &unstructured.Unstructured{}
	raw, err := json.Marshal(object)
	if err = errors.Join(err, u.UnmarshalJSON(raw)); err != nil { // with whole numbers as the API server's
		t.Fatal(err)
	}
	return u
}

func TestAWorkloadOfAnotherProjectIsReadAsADeploymentIs(t *testing.T) {
	t.Parallel()
	const degraded = autorebootv1.ReasonDegraded
	for name, test := range map[string]struct {
		spec, status       string
		obstacle, text     string
		complete, evicting bool
	}{
		"complete":                 {complete: true},
		"replicas default to one":  {spec: "replicas: null", status: "replicas: 1, updatedReplicas: 1, availableReplicas: 1", complete: true},
		"a rollout":                {status: "updatedReplicas: 2"},
		"pods of before":           {status: "replicas: 4"},
		"not observed":             {status: "observedGeneration: 2"},
		"not available":            {status: "availableReplicas: 2"},
		"ready, for available":     {status: "availableReplicas: null", complete: true},
		"not ready, for available": {status: "availableReplicas: null, readyReplicas: 2"},
		"no pods":                  {spec: "replicas: 0", obstacle: autorebootv1.ReasonScaledToZero, complete: true},
		"paused":                   {spec: "paused: true", obstacle: autorebootv1.ReasonPaused, complete: true},
		"paused, evicted":          {spec: "paused: true", evicting: true, complete: true},
		"paused as OpenKruise is":  {spec: "updateStrategy: {paused: true}", obstacle: autorebootv1.ReasonPaused, complete: true},
		"a partition":              {spec: "updateStrategy: {partition: 20%}", obstacle: autorebootv1.ReasonPartitioned, complete: true},
		"a partition in place":     {spec: "updateStrategy: {rollingUpdate: {partition: 1}}", obstacle: autorebootv1.ReasonPartitioned, complete: true},
		"a partition of none":      {spec: "updateStrategy: {partition: 0%, rollingUpdate: {partition: 0}}", complete: true},

		"no observedGeneration": {status: "observedGeneration: null", obstacle: degraded, text: ", since its status has no observedGeneration, without which no restart is verified"},
		"no replicas":           {status: "replicas: null", obstacle: degraded, text: "its status has no replicas"},
		"no updatedReplicas":    {status: "updatedReplicas: null", obstacle: degraded, text: "its status has no updatedReplicas"},
		"none, evicted":         {status: "updatedReplicas: null", evicting: true, obstacle: degraded, text: "its status has no updatedReplicas"},
		"no readyReplicas":      {status: "availableReplicas: null, readyReplicas: null", obstacle: degraded, text: "its status has no readyReplicas"},
		"a text":                {status: "replicas: three", obstacle: degraded, text: ", since its status.replicas is no integer"},
		"a fraction":            {spec: "replicas: 1.5", obstacle: degraded, text: "its spec.replicas is no integer"},
		"a list":                {spec: "replicas: [1]", obstacle: degraded, text: "its spec.replicas is no integer"},
		"no template":           {spec: "template: null", obstacle: degraded, text: ", since it has no pod template at spec.template: correct rebootPolicies.workloads in the operator's configuration"},
		"another template":      {spec: "template: {source: here}", obstacle: degraded, text: "it has no pod template at spec.template"},
		"a broken template":     {spec: "template: {spec: {containers: secret}}", obstacle: degraded, text: "its spec.template is not as expected"},
		"no selector":           {spec: "selector: null", obstacle: degraded, text: "it has no spec.selector, by which its pods are found"},
		"a selector in words":   {spec: "selector: app=web", obstacle: degraded, text: "it has no spec.selector"},
	} {
		w := Configured(&cloneSets, cloneSet(t, test.spec, test.status), test.evicting)
		if w.Obstacle != test.obstacle || !strings.Contains(w.ObstacleText, test.text) || (test.text == "") != (w.ObstacleText == "") || strings.Contains(w.ObstacleText, "secret") {
			t.Errorf("%s: obstacle %q%s, want %q%s", name, w.Obstacle, w.ObstacleText, test.obstacle, test.text)
		}
		if complete := w.Complete && w.Available && w.Outdated != nil; complete && !test.complete || w.Complete != test.complete && test.obstacle != degraded {
			t.Errorf("%s: complete %t, available %t, outdated %v", name, w.Complete, w.Available, w.Outdated)
		}
	}
	w := Configured(&cloneSets, cloneSet(t, "", ""), false)
	if w.Kind != "CloneSet.apps.kruise.io" || w.APIVersion != "apps.kruise.io/v1alpha1" || w.Desired != 3 || w.AvailablePods != 3 || w.MinReady.Seconds() != 5 ||
		w.RestartID != "r1" || w.Selector.MatchLabels["app"] != "web" || w.Template.Spec.Containers[0].EnvFrom[0].SecretRef.Name != "creds" {
		t.Errorf("%+v", w)
	}
}

func TestAConfiguredKindIsReadByItsName(t *testing.T) {
	t.Parallel()
	object := cloneSet(t, "", "")
	from := fake.NewClientBuilder().WithObjects(object).Build()
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	w, err := Get(t.Context(), from, key, cloneSets.Name(), false, cloneSets)
	if err != nil || w == nil || w.Name != "web" {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := Get(t.Context(), from, key, cloneSets.Name(), false); w != nil || err != nil {
		t.Errorf("not configured: %+v, %v", w, err)
	}
	all, err := List(t.Context(), from, "shop", cloneSets.Name(), labels.Everything(), false, cloneSets)
	if err != nil || len(all) != 1 || all[0].Name != "web" {
		t.Errorf("%+v, %v", all, err)
	}
}
