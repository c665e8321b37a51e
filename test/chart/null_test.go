// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"
)

// valueSchema holds the parts of a JSON Schema that the test reads.
type valueSchema struct {
	Ref         string `json:"$ref"`
	Definitions map[string]*valueSchema
	Properties  map[string]*valueSchema
	Items       *valueSchema
}

// resolve puts the definitions in the places of what refers to them.
func (s *valueSchema) resolve(definitions map[string]*valueSchema) {
	if s.Ref != "" {
		*s = *definitions[strings.TrimPrefix(s.Ref, "#/definitions/")]
	}
	for _, below := range s.Properties {
		below.resolve(definitions)
	}
	if s.Items != nil {
		s.Items.resolve(definitions)
	}
}

// valuePaths are the paths of all values that the schema names, with 0 for an item of a list, in order.
func valuePaths(of *valueSchema, below []string) (paths [][]string) {
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		path := append(slices.Clone(below), name)
		paths = append(append(paths, path), valuePaths(of.Properties[name], path)...)
	}
	if of.Items != nil {
		path := append(slices.Clone(below), "0")
		paths = append(append(paths, path), valuePaths(of.Items, path)...)
	}
	return paths
}

// nullAt is a document that is null at a path, and nothing else.
func nullAt(path []string) any {
	switch {
	case len(path) == 0:
		return nil
	case path[0] == "0":
		return []any{nullAt(path[1:])}
	}
	return map[string]any{path[0]: nullAt(path[1:])}
}

// with is a copy of values in which the path has a value, or is missing.
func with(values map[string]any, path []string, value any, missing bool) map[string]any {
	values = maps.Clone(values)
	switch below, _ := values[path[0]].(map[string]any); {
	case len(path) > 1 && below != nil:
		values[path[0]] = with(below, path[1:], value, missing)
	case len(path) > 1:
		values[path[0]] = with(map[string]any{}, path[1:], value, missing)
	case missing:
		delete(values, path[0])
	default:
		values[path[0]] = value
	}
	return values
}

// A key that is left blank, `keep:`, is null, and Helm takes the chart's default away for it. Versions of Helm, and
// charts that depend on this one, differ in whether the template finds a null or nothing at all.
func TestNoValueOfNullDeletesDisablesOrOpensAnything(t *testing.T) {
	folder := generated(t)
	var of valueSchema
	content, err := os.ReadFile(filepath.Join(folder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &of); err != nil {
		t.Fatal(err)
	}
	of.resolve(of.Definitions)
	var defaults map[string]any
	if content, err = os.ReadFile(filepath.Join(folder, "values.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.Unmarshal(content, &defaults); err != nil {
		t.Fatal(err)
	}
	untouched, err := render(t, folder, "fairlead-system", nil)
	if err != nil {
		t.Fatal(err)
	}
	paths := valuePaths(&of, nil)
	if len(paths) < 200 {
		t.Fatalf("%d paths of values", len(paths))
	}
	harmless := func(how string, path []string, values map[string]any, options renderOptions) {
		manifests, err := renderWith(t, folder, "fairlead-system", values, options)
		dotted, pointer := strings.Join(path, "."), "'/"+strings.Join(path, "/")+"'"
		switch {
		case err == nil && manifests == untouched:
		case err == nil:
			t.Errorf("%s, %s: other objects than without it", dotted, how)
		case !strings.Contains(err.Error(), dotted+" has no value") && !strings.Contains(err.Error(), pointer+": got null, want "):
			t.Errorf("%s, %s: the refusal does not name it: %v", dotted, how, err)
		}
	}
	for _, path := range paths {
		harmless("null", path, nullAt(path).(map[string]any), renderOptions{})
		if slices.Contains(path, "0") {
			continue
		}
		harmless("null that reaches the template", path, with(defaults, path, nil, false), renderOptions{withoutDefaults: true, withoutSchema: true})
		if _, has, _ := unstructured.NestedFieldNoCopy(defaults, path...); has {
			harmless("missing", path, with(defaults, path, nil, true), renderOptions{withoutDefaults: true})
		}
	}
}

// What is in resources is the field of a container, in which a null takes a default out, as Helm documents.
func TestANullTakesADefaultOutOfResources(t *testing.T) {
	manifests, err := render(t, generated(t), "fairlead-system", map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": nil}}})
	if err != nil || strings.Contains(manifests, "cpu: 100m") || !strings.Contains(manifests, "memory: 128Mi") || !strings.Contains(manifests, "memory: 512Mi") {
		t.Errorf("%v, or other resources", err)
	}
}

// renderOptions are how a chart reaches a template.
type renderOptions struct {
	release         string // default: fl
	withoutDefaults bool   // the chart has none, as where values are reused that an older chart had
	withoutSchema   bool   // as with --skip-schema-validation
}

// renderWith is render with options.
func renderWith(t *testing.T, folder, namespace string, values map[string]any, o renderOptions) (string, error) {
	t.Helper()
	chart, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if o.withoutDefaults {
		chart.Values = map[string]any{}
	}
	install := installAction(t, namespace)
	install.SkipSchemaValidation = o.withoutSchema
	if o.release != "" {
		install.ReleaseName = o.release
	}
	made, err := install.Run(chart, values)
	if err != nil {
		return "", err
	}
	return made.(*releasev1.Release).Manifest, nil
}
