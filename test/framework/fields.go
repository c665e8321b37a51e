// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// FieldTests has tests of suites, as a folder of test and the name of the function with a dot between, and the fields of a
// spec that each of them shows to act.
type FieldTests map[string][]string

// Check wants each field of the spec of a CustomResourceDefinition, a file of config/crd/bases, to have a test or to be in
// cases; and each test to exist. A field is the path of its names, such as targets.kind: that it lies in a list is not said.
func (shown FieldTests) Check(t *testing.T, definition, version string, cases ...string) {
	t.Helper()
	fields, err := specFields(filepath.Join(Root, "config", "crd", "bases", definition), version)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, field := range slices.Concat(append(slices.Collect(maps.Values(shown)), cases)...) {
		has[field] = true
		if !fields[field] {
			t.Errorf("the spec has no field %s", field)
		}
	}
	if lacking := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(field string) bool { return has[field] }); len(lacking) > 0 {
		t.Errorf("of %d fields these have no test: %q", len(fields), lacking)
	}
	for name := range shown {
		if err := hasTest(name); err != nil {
			t.Error(err)
		}
	}
}

func specFields(file, version string) (map[string]bool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	fields := map[string]bool{}
	for _, served := range crd.Spec.Versions {
		if served.Name == version {
			addFields(fields, "", served.Schema.OpenAPIV3Schema.Properties["spec"])
		}
	}
	if len(fields) < 20 {
		return nil, fmt.Errorf("%s: %d fields of the spec at %s", file, len(fields), version)
	}
	return fields, nil
}

// addFields adds the paths of a schema. Selectors and templates count as one field each.
func addFields(fields map[string]bool, path string, schema apiextensionsv1.JSONSchemaProps) {
	if schema.Items != nil && schema.Items.Schema != nil {
		schema = *schema.Items.Schema
	}
	_, isSelector := schema.Properties["matchLabels"]
	if _, isTemplate := schema.Properties["metadata"]; len(schema.Properties) == 0 || isSelector || isTemplate {
		fields[strings.TrimPrefix(path, ".")] = true
		return
	}
	for name, property := range schema.Properties {
		addFields(fields, path+"."+name, property)
	}
}

func hasTest(name string) error {
	folder, function, _ := strings.Cut(name, ".")
	files, err := filepath.Glob(filepath.Join(Root, "test", folder, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(parsed.Decls, func(d ast.Decl) bool {
			f, ok := d.(*ast.FuncDecl)
			return ok && f.Recv == nil && f.Name.Name == function && strings.HasPrefix(function, "Test")
		}) {
			return nil
		}
	}
	return fmt.Errorf("there is no test %s", name)
}

// Daily returns the cron expression of a moment, each day, in a time zone.
func (t *Test) Daily(at time.Time, zone string) string {
	t.Helper()
	location, err := time.LoadLocation(zone)
	t.Must(err)
	at = at.In(location)
	return fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour())
}
