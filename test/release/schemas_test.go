// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// compiled are the schemas as an editor reads them: they must be right themselves.
func compiled(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	files, err := schemas(filepath.Join(root, "config", "crd", "bases"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*jsonschema.Schema{}
	for name, text := range files {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(name, document); err != nil {
			t.Fatal(err)
		}
		if all[name], err = compiler.Compile(name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return all
}

// validate returns an editor's verdict on a manifest.
func validate(t *testing.T, schema *jsonschema.Schema, manifest string) error {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

func TestEverySampleFitsTheSchemaOfItsKind(t *testing.T) {
	all := compiled(t)
	want := []string{
		"chaospod_v1.json", "chaospod_v1alpha1.json", "clusterrebootpolicy_v1.json", "clusterrebootpolicy_v1alpha1.json",
		"externalservice_v1.json", "externalservice_v1alpha1.json",
		"rebootpolicy_v1.json", "rebootpolicy_v1alpha1.json",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(all))); diff != "" {
		t.Fatal(diff)
	}
	samples, err := filepath.Glob(filepath.Join(root, "config", "samples", "*_v1*.yaml"))
	if err != nil || len(samples) < 5 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	checked := 0
	for _, file := range samples {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			var object struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			_, version, _ := strings.Cut(object.APIVersion, "/")
			schema := all[strings.ToLower(object.Kind)+"_"+version+".json"]
			if schema == nil {
				continue // a workload that a sample needs
			}
			checked++
			if err := validate(t, schema, document); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if checked < 5 {
		t.Errorf("%d objects of ours in %d samples", checked, len(samples))
	}
}

func TestWhatAnEditorShouldMarkIsWrong(t *testing.T) {
	all := compiled(t)
	const right = `
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: db, labels: {a: b}}
spec:
  ports: [{name: postgres, port: 5432}]
  endpoints: [{name: primary, addresses: [192.0.2.10]}]
`
	schema := all["externalservice_v1.json"]
	if err := validate(t, schema, right); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"an unknown field":           {"spec:\n", "spec:\n  portz: []\n"},
		"an unknown field in a list": {"port: 5432", "port: 5432, prot: 1"},
		"a text for a number":        {"port: 5432", "port: postgres"},
		"another version":            {"dev/v1\n", "dev/v1alpha1\n"},
		"another kind":               {"kind: ExternalService", "kind: RebootPolicy"},
		"no spec":                    {right, "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: db}\n"},
	} {
		if err := validate(t, schema, strings.Replace(right, change[0], change[1], 1)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A template of a pod is open in the CRD and stays so, and an int-or-string takes both.
func TestSchemasMeanWhatTheCRDMeans(t *testing.T) {
	schema := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"open":  map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": map[string]any{"a": map[string]any{"type": "string"}}},
			"map":   map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "object", "properties": map[string]any{}}},
			"some":  map[string]any{"x-kubernetes-int-or-string": true, "anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}},
			"maybe": map[string]any{"type": "string", "nullable": true},
		},
		"x-kubernetes-validations": []any{map[string]any{"rule": "true"}},
	}
	convert(schema)
	want := `additionalProperties: false
properties:
  map:
    additionalProperties:
      additionalProperties: false
      properties: {}
      type: object
    type: object
  maybe:
    type:
    - string
    - "null"
  open:
    properties:
      a:
        type: string
    type: object
  some:
    anyOf:
    - type: integer
    - type: string
    type:
    - integer
    - string
type: object
`
	got, err := yaml.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(fmt.Sprint(diff))
	}
}
