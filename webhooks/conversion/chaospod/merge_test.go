// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// edit sets the value at a path of dots in a copy of the object, or removes it where value is nil.
func edit(t *testing.T, raw []byte, path string, with any) []byte {
	t.Helper()
	obj := value(t, raw)
	at, keys := obj, strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		child, ok := at[key].(map[string]any)
		if !ok {
			child = map[string]any{}
			at[key] = child
		}
		at = child
	}
	if at[keys[len(keys)-1]] = with; with == nil {
		delete(at, keys[len(keys)-1])
	}
	out, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func spec(name string, image string) map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": name, "image": image}}}}
}

// TestAnEditOfTheViewKeepsTheRestOfTheHub edits the v1alpha1 view of a v1 object, and compares
// what v1 then says with the same edit made there.
func TestAnEditOfTheViewKeepsTheRestOfTheHub(t *testing.T) {
	for _, c := range []struct {
		name, hub string
		path      string
		with      any
		hubPath   string // where the edit shows at v1; empty where it does not
		hubWith   any
	}{
		{"the next stop", "v1-workload", "spec.nextStop", "2027-01-01T00:00:00Z", "spec.schedule.at", "2027-01-01T00:00:00Z"},
		{"no next stop", "v1-canary", "spec.nextStop", nil, "spec.schedule.at", nil},
		{"the last run", "v1-workload", "status.lastRun", "2027-01-01T00:00:00Z", "status.lastRunTime", "2027-01-01T00:00:00Z"},
		{"the template", "v1-canary", "spec.template", spec("d", "httpd"), "spec.target.template", spec("d", "httpd")},
		{"a template as typed clients write none", "v1-workload", "spec.template",
			map[string]any{"metadata": map[string]any{"creationTimestamp": nil}, "spec": map[string]any{"containers": nil}}, "", nil},
		{"a template of nothing", "v1-selector-once", "spec.template", map[string]any{}, "", nil},
		{"a template for a workload", "v1-workload", "spec.template", spec("d", "httpd"), "spec.target", map[string]any{"template": spec("d", "httpd")}},
		{"an emptied template", "v1-canary", "spec.template", map[string]any{"spec": map[string]any{"containers": []any{}}},
			"spec.target.template", map[string]any{"spec": map[string]any{"containers": []any{}}}},
		{"a label", "v1-workload", "metadata.labels", map[string]any{"a": "b"}, "metadata.labels", map[string]any{"a": "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			hub := defaulted(t, fromYAML(t, "testdata/"+c.hub+".in.yaml"))
			got := convert(t, edit(t, convert(t, hub, "v1alpha1"), c.path, c.with), "v1")
			want := hub
			if c.hubPath != "" {
				want = edit(t, hub, c.hubPath, c.hubWith)
			}
			if diff := cmp.Diff(pruned(value(t, want)), pruned(value(t, got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// defaulted returns the object as admission stores it.
func defaulted(t *testing.T, raw []byte) []byte {
	t.Helper()
	obj := typed(t, raw)
	rules.Default(obj)
	out, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func typed(t *testing.T, raw []byte) *chaosv1.ChaosPod {
	t.Helper()
	var obj chaosv1.ChaosPod
	if err := json.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return &obj
}

func TestAnEditOfTheHubKeepsWhatOnlyTheSpokeKnows(t *testing.T) {
	spoke := edit(t, fromYAML(t, "testdata/v1alpha1-canary.in.yaml"), "spec.later", map[string]any{"x": 1.0})
	hub := convert(t, spoke, "v1")
	if len(restores(t, hub)) != 1 {
		t.Fatalf("what v1 cannot say is not saved: %s", hub)
	}
	for _, c := range []struct {
		name, path string
		with       any
		spokePath  string
		spokeWith  any
	}{
		{"at", "spec.schedule.at", "2027-01-01T00:00:00Z", "spec.nextStop", "2027-01-01T00:00:00Z"},
		{"the template", "spec.target.template", spec("d", "httpd"), "spec.template", spec("d", "httpd")},
		{"the last run", "status.lastRunTime", "2027-01-01T00:00:00Z", "status.lastRun", "2027-01-01T00:00:00Z"},
		{"what the spoke does not show", "spec.dryRun", true, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			edited := edit(t, hub, c.path, c.with)
			view := convert(t, edited, "v1alpha1")
			want := spoke
			if c.spokePath != "" {
				want = edit(t, spoke, c.spokePath, c.spokeWith)
			}
			if diff := cmp.Diff(value(t, want)["spec"], value(t, view)["spec"]); diff != "" {
				t.Errorf("view (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(value(t, want)["status"], value(t, view)["status"]); diff != "" {
				t.Errorf("view (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(value(t, edited)["spec"], value(t, convert(t, view, "v1"))["spec"]); diff != "" {
				t.Errorf("and back (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAViewNeverTurnsATargetIntoATemplate plays the writes by which a v1alpha1 client could change
// what an object acts on, and demands that each either changes nothing or is refused.
func TestAViewNeverTurnsATargetIntoATemplate(t *testing.T) {
	for _, name := range []string{"v1-workload", "v1-selector-once"} {
		hub := defaulted(t, fromYAML(t, "testdata/"+name+".in.yaml"))
		view := convert(t, hub, "v1alpha1")
		for _, c := range []struct {
			name    string
			written []byte
			refused bool
		}{
			{"as it is", view, false},
			{"as it is, without the restore annotation", edit(t, view, "metadata.annotations", nil), true},
			{"with a template", edit(t, view, "spec.template", spec("c", "nginx")), true},
			{"with a template, without the restore annotation", edit(t, edit(t, view, "metadata.annotations", nil), "spec.template", spec("c", "nginx")), true},
			{"with labels alone", edit(t, view, "spec.template.metadata", map[string]any{"labels": map[string]any{"a": "b"}}), true},
			{"with a template of nothing", edit(t, view, "spec.template", map[string]any{}), false},
			{"with a later stop", edit(t, view, "spec.nextStop", "2027-01-01T00:00:00Z"), false},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				obj, old := typed(t, convert(t, c.written, "v1")), typed(t, hub)
				errs := rules.Validate(obj, old)
				if (len(errs) > 0) != c.refused {
					t.Errorf("refused %t, want %t: %v", len(errs) > 0, c.refused, errs)
				}
				if c.refused && !strings.Contains(errs.ToAggregate().Error(), "target.template cannot be added or removed") {
					t.Errorf("refused for another reason: %v", errs)
				}
				if !c.refused {
					if diff := cmp.Diff(old.Spec.Target, obj.Spec.Target); diff != "" {
						t.Errorf("target (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

// TestTheAPIServerAcceptsItsOwnView prunes and validates the view of an object without a template
// as the API server does when the view is written back.
func TestTheAPIServerAcceptsItsOwnView(t *testing.T) {
	kind := crd(t)
	for _, name := range []string{"v1-workload", "v1-selector-once", "v1-canary"} {
		view := jsonObject(t, convert(t, fromYAML(t, "testdata/"+name+".in.yaml"), "v1alpha1"))
		before := runtime.DeepCopyJSON(view)
		if dropped := kind.Prune("v1alpha1", view); len(dropped) > 0 {
			t.Errorf("%s: unknown fields %v", name, dropped)
		}
		if diff := cmp.Diff(before, view); diff != "" {
			t.Errorf("%s: pruning changes the view: %s", name, diff)
		}
		if errs := kind.Validate(t.Context(), "v1alpha1", view, nil); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// Empty maps and lists of a template stay what they are, and v1, which can say them, needs no annotation for that.
func TestATemplateOfNothingReadsBackAsWritten(t *testing.T) {
	for _, template := range []string{
		`{}`, `{"metadata":{}}`, `{"metadata":{"labels":{}}}`, `{"spec":{"containers":[]}}`, `{"metadata":{},"spec":{"containers":[],"volumes":[]}}`,
		`{"spec":{"containers":[{"args":[],"env":[],"image":"nginx","name":"c","resources":{}}],"nodeSelector":{}}}`,
	} {
		for _, object := range []string{
			`{"apiVersion":"chaos.fairlead.dev/v1alpha1","kind":"ChaosPod","metadata":{"name":"a"},"spec":{"template":` + template + `}}`,
			`{"apiVersion":"chaos.fairlead.dev/v1","kind":"ChaosPod","metadata":{"name":"a"},"spec":{"schedule":{"interval":"1h"},"target":{"template":` + template + `}}}`,
		} {
			from := value(t, []byte(object))["apiVersion"].(string)
			there := convert(t, []byte(object), other(t, []byte(object)))
			back := convert(t, there, from[len("chaos.fairlead.dev/"):])
			if diff := cmp.Diff(value(t, []byte(object)), value(t, back)); diff != "" {
				t.Errorf("%s (-written +read back):\n%s", object, diff)
			}
			if both := string(there) + string(back); strings.Contains(both, common.V1Alpha1DataAnnotation) {
				t.Errorf("%s has an annotation that restores nothing: %s", object, both)
			}
		}
	}
}
