// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the page of the chart's values")

func TestTheReferenceOfValuesIsThatOfTheChart(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference", "chart-values.md")
	want, err := Reference(config)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(content)); diff != "" {
		t.Errorf("docs/reference/chart-values.md is stale: run `make generate` (-values.yaml +page):\n%s", diff)
	}
}

// The page has no value that the schema refuses, and the schema no value without a default.
func TestEachValueOfTheSchemaHasADefault(t *testing.T) {
	var of valueSchema
	content, err := os.ReadFile(filepath.Join(config, "chart", "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &of); err != nil {
		t.Fatal(err)
	}
	var defaults map[string]any
	if content, err = os.ReadFile(filepath.Join(config, "chart", "values.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.Unmarshal(content, &defaults); err != nil {
		t.Fatal(err)
	}
	defaults["global"], defaults["enabled"] = nil, nil // of a chart that depends on this one
	if diff := cmp.Diff(slices.Sorted(maps.Keys(defaults)), slices.Sorted(maps.Keys(of.Properties))); diff != "" {
		t.Errorf("-values.yaml +schema:\n%s", diff)
	}
}
