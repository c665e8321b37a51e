// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"flag"
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGoldenConversions(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		annotated      bool
	}{
		{"probe", "v1alpha1", "v1", false},
		{"own-fields", "v1alpha1", "v1", true},
		{"plain", "v1", "v1alpha1", false},
		{"full", "v1", "v1alpha1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			original := load(t, "testdata/"+c.name+"."+c.from+".yaml")
			got := convert(t, original, c.to)
			golden := "testdata/" + c.name + "." + c.to + ".golden.yaml"
			if *update {
				data, err := yaml.JSONToYAML(got)
				if err == nil {
					err = os.WriteFile(golden, data, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			same(t, golden, got, load(t, golden))
			if annotated(t, got) != c.annotated {
				t.Errorf("restore annotation: %t, want %t", !c.annotated, c.annotated)
			}
			back := convert(t, got, c.from)
			if annotated(t, back) {
				t.Errorf("a restore annotation came back: %s", back)
			}
			again := convert(t, back, c.to)
			if c.from == "v1" {
				back, original = completed(t, back), completed(t, original)
			}
			same(t, "back", back, original)
			same(t, "there again", again, got)
		})
	}
}

// The API server converts what it has stored into a view, and refuses the view when it comes back
// unless the schema of that version takes it.
func TestViewsOfGoodObjectsAreAdmittedAtTheirVersion(t *testing.T) {
	for _, name := range []string{"full", "plain"} {
		admitted(t, convert(t, load(t, "testdata/"+name+".v1.yaml"), "v1alpha1"), "v1alpha1")
	}
	admitted(t, convert(t, load(t, "testdata/probe.v1alpha1.yaml"), "v1"), "v1")
	for path, value := range map[string]any{
		"spec.targets.0":                     object{"kind": "DaemonSet", "selector": object{"matchLabels": object{"a": "b"}}},
		"spec.targets":                       []any{object{"selector": object{}}},
		"spec.targets.0.group":               "apps",
		"spec.triggers.0.probe.interval":     "6500ms",
		"spec.triggers.0.probe.timeout":      "1ms",
		"spec.triggers.0.probe.host":         "a.example.com",
		"spec.triggers.0.probe.minUnhealthy": int64(3),
		"spec.triggers.0.type":               "Schedule",
	} {
		view := convert(t, edit(t, load(t, "testdata/plain.v1.yaml"), path, value), "v1alpha1")
		admitted(t, view, "v1alpha1")
	}
}
