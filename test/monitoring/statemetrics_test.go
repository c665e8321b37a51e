// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// customResourceStateMetrics holds the parts of kube-state-metrics' configuration that the file here uses.
type customResourceStateMetrics struct {
	Kind string
	Spec struct{ Resources []resource }
}

type resource struct {
	GroupVersionKind struct{ Group, Version, Kind string }
	ResourcePlural   string
	LabelsFromPath   map[string][]string
	Metrics          []struct {
		Name, Help string
		Each       struct {
			Type     string
			Gauge    *struct{ Path []string }
			StateSet *struct {
				Path           []string
				LabelsFromPath map[string][]string
				LabelName      string
				ValueFrom      []string
				List           []string
			}
		}
	}
}

func stateMetrics(t *testing.T) customResourceStateMetrics {
	t.Helper()
	var file customResourceStateMetrics
	decode(t, root+"/config/prometheus/kube-state-metrics.yaml", &file)
	return file
}

func TestKubeStateMetricsReadsFieldsThatExist(t *testing.T) {
	file := stateMetrics(t)
	if file.Kind != "CustomResourceStateMetrics" || len(file.Spec.Resources) != 4 {
		t.Fatalf("kind %s, %d resources", file.Kind, len(file.Spec.Resources))
	}
	for _, r := range file.Spec.Resources {
		schema := storedSchema(t, r)
		check := func(what string, path []string, want string) {
			if got := typeAt(schema, path); got != want {
				t.Errorf("%s: %s reads %v, which is %q and not %q", r.GroupVersionKind.Kind, what, path, got, want)
			}
		}
		for _, m := range r.Metrics {
			switch {
			case m.Each.Type == "Gauge" && m.Each.Gauge != nil:
				check(m.Name, m.Each.Gauge.Path, "integer")
			case m.Each.Type == "StateSet" && m.Each.StateSet != nil:
				set := m.Each.StateSet
				check(m.Name, set.Path, "array")
				check(m.Name, slices.Concat(set.Path, set.ValueFrom), "string")
				for label, path := range set.LabelsFromPath {
					check(label, slices.Concat(set.Path, path), "string")
				}
				if !slices.Equal(set.List, []string{"True", "False", "Unknown"}) {
					t.Errorf("%s: statuses %v", m.Name, set.List)
				}
			default:
				t.Errorf("%s: type %s", m.Name, m.Each.Type)
			}
		}
	}
}

// storedSchema is the schema of the version that is stored, which has to be the one that is read.
func storedSchema(t *testing.T, r resource) map[string]any {
	t.Helper()
	var crd struct {
		Spec struct {
			Names    struct{ Kind, Plural string }
			Versions []struct {
				Name    string
				Storage bool
				Schema  struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	paths, err := filepath.Glob(root + "/config/crd/bases/" + r.GroupVersionKind.Group + "_" + r.ResourcePlural + ".yaml")
	if err != nil || len(paths) != 1 {
		t.Fatalf("%s has no CRD: %v", r.GroupVersionKind.Kind, err)
	}
	if err := yaml.Unmarshal(content(t, paths[0]), &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage && v.Name == r.GroupVersionKind.Version && crd.Spec.Names.Kind == r.GroupVersionKind.Kind {
			return v.Schema.OpenAPIV3Schema
		}
	}
	t.Fatalf("%v is not the stored version", r.GroupVersionKind)
	return nil
}

// typeAt is the type of a field, where a step into an array leads to its items; metadata has what objects have.
func typeAt(schema map[string]any, path []string) string {
	if slices.Equal(path, []string{"metadata", "generation"}) {
		return "integer"
	}
	for _, step := range path {
		if items, ok := schema["items"].(map[string]any); ok {
			schema = items
		}
		properties, _ := schema["properties"].(map[string]any)
		next, ok := properties[step].(map[string]any)
		if !ok {
			return ""
		}
		schema = next
	}
	kind, _ := schema["type"].(string)
	return kind
}
