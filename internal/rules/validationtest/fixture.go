// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validationtest

import (
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
)

// Definition returns the CRD of a kind, compiled.
func Definition(t testing.TB, group, resource string) *crdschema.Kind {
	t.Helper()
	text, err := crd.Definition(group, resource)
	if err != nil {
		t.Fatal(err)
	}
	kind, err := crdschema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

// TypedSchema returns the schema of a version.
func TypedSchema(t testing.TB, group, resource, version string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	text, err := crd.Definition(group, resource)
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	for i := range definition.Spec.Versions {
		if v := &definition.Spec.Versions[i]; v.Name == version {
			return v.Schema.OpenAPIV3Schema
		}
	}
	t.Fatalf("%s.%s has no version %s", resource, group, version)
	return nil
}

// Schema returns the schema of a version as JSON data.
func Schema(t testing.TB, group, resource, version string) map[string]any {
	t.Helper()
	return Untyped(t, TypedSchema(t, group, resource, version))
}

// Objects reads all documents of a YAML file, as the API server reads them.
func Objects(t testing.TB, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // a file of the tests
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, document := range strings.Split(string(text), "\n---\n") {
		out = append(out, Object(t, document))
	}
	return out
}

// Object reads YAML as the API server reads it.
func Object(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// Typed reads JSON data into a Go type, which keeps an empty list apart from an absent one.
func Typed[T any](t testing.TB, obj map[string]any) *T {
	t.Helper()
	out := new(T)
	raw, err := json.Marshal(obj)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

// Untyped returns a value of a Go type as JSON data.
func Untyped(t testing.TB, value any) map[string]any {
	t.Helper()
	var out map[string]any
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
