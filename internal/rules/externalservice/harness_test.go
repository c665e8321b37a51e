// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
)

const crdFile = "../../../config/crd/bases/networking.fairlead.dev_externalservices.yaml"

func crdKind(t testing.TB) *crdschema.Kind {
	t.Helper()
	data, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	kind, err := crdschema.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

// documents reads the objects of a file of several, as the API server would read them.
func documents(t testing.TB, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, doc := range bytes.Split(data, []byte("\n---\n")) {
		raw, err := yaml.YAMLToJSON(doc)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var obj map[string]any
		if err := json.Unmarshal(raw, &obj); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, obj)
	}
	return out
}

// typed reads JSON data into the Go type, which keeps an empty list apart from an absent one.
func typed(t testing.TB, obj map[string]any) *v1.ExternalService {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var out v1.ExternalService
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return &out
}

// decodes is typed for data that may not fit the Go type.
func decodes(obj map[string]any) (*v1.ExternalService, bool) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, false
	}
	var out v1.ExternalService
	return &out, json.Unmarshal(data, &out) == nil
}

// untyped writes the Go type as JSON data.
func untyped(t testing.TB, obj *v1.ExternalService) map[string]any {
	t.Helper()
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bySchema is the CRD's verdict: the texts of its errors, none where it accepts.
func bySchema(kind *crdschema.Kind, obj map[string]any) []string {
	defaulted := runtime.DeepCopyJSON(obj)
	kind.Default("v1", defaulted)
	var out []string
	for _, err := range kind.Validate(context.Background(), "v1", defaulted, nil) {
		out = append(out, err.Error())
	}
	return out
}

// agree demands the same verdict of the CRD and of Structural, and returns it.
func agree(t *testing.T, kind *crdschema.Kind, what string, obj map[string]any) (schemaErrs []string) {
	t.Helper()
	schemaErrs = bySchema(kind, obj)
	twinErrs := Structural(typed(t, obj), nil)
	if (len(schemaErrs) == 0) != (len(twinErrs) == 0) {
		data, _ := json.Marshal(obj)
		t.Errorf("%s: the CRD says %q, Structural says %v, of %s", what, schemaErrs, twinErrs, data)
	}
	return schemaErrs
}

// at walks to a place such as spec.ports[*].name, through the first item of lists, and returns
// its parent and last step; ok is false where the object has no such parent.
func at(obj map[string]any, path []string) (parent map[string]any, last string, ok bool) {
	var node any = obj
	for _, step := range path[:len(path)-1] {
		switch n := node.(type) {
		case map[string]any:
			node = n[step]
		case []any:
			if step != "[*]" || len(n) == 0 {
				return nil, "", false
			}
			node = n[0]
		default:
			return nil, "", false
		}
	}
	parent, ok = node.(map[string]any)
	return parent, path[len(path)-1], ok
}

func pathString(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[*]", "[*]")
}
