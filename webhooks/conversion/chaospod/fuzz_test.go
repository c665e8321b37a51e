// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/chaos/v1alpha1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

const rounds = 200

// filler makes values as a client could send them: times to the second, as metav1.Time writes
// them, and no metadata but a name, since nothing else of it is converted.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.6).NumElements(1, 3).MaxDepth(12).Funcs(
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(c.Int63n(1<<32), 0).Rfc3339Copy() },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(1<<40), resource.BinarySI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if *v = intstr.FromInt32(c.Int31()); c.Bool() {
				*v = intstr.FromString(c.String(5))
			}
		},
		func(m *metav1.TypeMeta, _ randfill.Continue) {},
		func(carried *runtime.RawExtension, _ randfill.Continue) { carried.Raw = []byte(`{"made":1}`) },
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			m.Name = c.String(20)
			m.Labels = map[string]string{c.String(5): c.String(5)}
		},
	)
}

func TestTypedV1SurvivesV1Alpha1(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	fill := filler(seed)
	for range rounds {
		var obj chaosv1.ChaosPod
		fill.Fill(&obj)
		obj.SetGroupVersionKind(chaosv1.GroupVersion.WithKind("ChaosPod"))
		survives(t, seed, obj, "v1alpha1")
	}
}

func TestTypedV1Alpha1SurvivesV1WithNothingSaved(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	fill := filler(seed)
	for range rounds {
		var obj v1alpha1.ChaosPod
		fill.Fill(&obj)
		obj.Status.V1 = nil // which belongs to the rest of the status
		obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ChaosPod"))
		hub := survives(t, seed, obj, "v1")
		if saved := restores(t, hub); saved != nil {
			t.Fatalf("seed %d: %s carries %v", seed, hub, saved)
		}
		var defaulted, converted chaosv1.ChaosPod
		if err := json.Unmarshal(hub, &converted); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		converted.DeepCopyInto(&defaulted)
		rules.Default(&defaulted)
		if diff := cmp.Diff(converted.Spec, defaulted.Spec); diff != "" {
			t.Fatalf("seed %d: admission would change the converted object: %s", seed, diff)
		}
	}
}

// survives converts the object to the version and back, demands that nothing changed, and returns
// the converted one.
func survives(t *testing.T, seed int64, obj any, version string) []byte {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	there := convert(t, raw, version)
	back := convert(t, there, other(t, there))
	if diff := cmp.Diff(meant(t, raw), meant(t, back)); diff != "" {
		t.Fatalf("seed %d: lost through %s: %s", seed, version, diff)
	}
	return there
}

// pruned drops null members, as the API server does, and an empty status, which says nothing.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			if status, ok := member.(map[string]any); ok && key == "status" && len(status) == 0 || member == nil {
				continue
			}
			out[key] = pruned(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = pruned(v[i])
		}
		return out
	}
	return v
}

// FuzzAnyObjectSurvives converts whatever JSON object there is, from either version, and back.
func FuzzAnyObjectSurvives(f *testing.F) {
	template, err := json.Marshal(corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{}`, `{"spec":null}`, `{"spec":{}}`, `{"spec":7,"status":"x"}`, `{"spec":{},"status":{}}`,
		`{"spec":{"template":` + string(template) + `,"nextStop":"2026-01-01T00:00:00Z"},"status":{"lastRun":"2026-01-01T00:00:00Z"}}`,
		`{"spec":{"template":null,"nextStop":null},"status":{"lastRun":null}}`,
		`{"spec":{"template":[1,{"a":null}],"nextStop":5,"later":{"x":1}}}`,
		`{"spec":{"template":"text","nextStop":"soon"}}`,
		`{"spec":{"target":{"template":` + string(template) + `},"schedule":{"at":"2026-01-01T00:00:00.5+01:00","interval":"15s"}}}`,
		`{"spec":{"target":{"workload":{"kind":"Deployment","name":"a"},"template":{"spec":{"containers":[]}}},"schedule":{"cron":"@daily"}}}`,
		`{"spec":{"target":{"selector":{}},"schedule":{"at":""},"count":"5%","windows":[{"cron":1}]},"status":{"lastRunTime":"","runs":[{}]}}`,
		`{"spec":{"target":[],"schedule":"daily","action":null,"dryRun":"yes"},"status":{"conditions":[null]}}`,
		`{"spec":{"target":{"template":null,"workload":null}},"extra":[12345678901234567890]}`,
	} {
		f.Add([]byte(seed), "v1")
		f.Add([]byte(seed), "v1alpha1")
	}
	f.Fuzz(func(t *testing.T, raw []byte, from string) {
		var obj map[string]any
		if json.Unmarshal(raw, &obj) != nil || obj == nil || from != "v1" && from != "v1alpha1" {
			return
		}
		obj["apiVersion"], obj["kind"] = "chaos.fairlead.dev/"+from, "ChaosPod"
		obj["metadata"] = map[string]any{"name": "a", "annotations": map[string]any{"a": "b"}}
		source, err := json.Marshal(obj)
		if err != nil {
			return
		}
		there := convert(t, source, other(t, source))
		back := convert(t, there, from)
		if diff := cmp.Diff(meant(t, source), meant(t, back)); diff != "" {
			t.Errorf("%s through %s: %s", source, there, diff)
		}
	})
}

// meant is the object, that of v1 with its defaults where the converter knows all of its spec: an absent
// field and its default mean the same.
func meant(t *testing.T, raw []byte) any {
	t.Helper()
	object := value(t, raw)
	if object["apiVersion"] != "chaos.fairlead.dev/v1" {
		return pruned(object)
	}
	var form hubForm
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if decoder.Decode(&form) != nil {
		return pruned(object)
	}
	exact, err := json.Marshal(form.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pruned(object["spec"]), pruned(value(t, exact))); diff != "" {
		return pruned(object)
	}
	complete(&form)
	completed, err := json.Marshal(form.Spec)
	if err != nil {
		t.Fatal(err)
	}
	object["spec"] = value(t, completed)
	return pruned(object)
}

// FuzzNoAnnotationBreaksConversion puts anything into the restore annotations: a view always
// converts, and the result carries no stale annotation.
func FuzzNoAnnotationBreaksConversion(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", `{"hub":{"spec":{"target":{"workload":{"kind":"Deployment","name":"a"}}}}}`,
		`{"hub":{"spec":7}}`, `{"bulk":255,"hub":{"spec":{"target":[]}}}`, `{"partial":true,"spoke":{"spec":{"template":7}}}`,
	} {
		f.Add(seed, "2026-01-01T00:00:00Z", true)
		f.Add(seed, "", false)
	}
	f.Fuzz(func(t *testing.T, annotation, at string, spoke bool) {
		version, spec := "v1", map[string]any{"schedule": map[string]any{"at": at}}
		if spoke {
			version, spec = "v1alpha1", map[string]any{"nextStop": at}
		}
		source, err := json.Marshal(map[string]any{
			"apiVersion": "chaos.fairlead.dev/" + version, "kind": "ChaosPod", "spec": spec,
			"metadata": map[string]any{"name": "a", "annotations": map[string]any{
				common.ConversionDataAnnotation: annotation, common.V1Alpha1DataAnnotation: annotation,
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		there := convert(t, source, other(t, source))
		if saved := restores(t, there); len(saved) > 1 {
			t.Errorf("%s carries %v", there, saved)
		}
	})
}
