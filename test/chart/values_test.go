// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write charts/fairlead and the page of its values")

// What a user reads in Git, and installs from it, is what a release has.
func TestTheChartInGitIsThatOfTheKustomizations(t *testing.T) {
	home, page := Home(config), filepath.Join("..", "..", "docs", "reference", "chart-values.md")
	if *update {
		if err := Write(config, home); err != nil {
			t.Fatal(err)
		}
		reference, err := Reference(home)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(page, reference); err != nil {
			t.Fatal(err)
		}
	}
	want, got := contents(t, generated(t)), contents(t, home)
	delete(want, "Chart.yaml") // which has the version of the release
	delete(got, "Chart.yaml")
	if len(want) < 20 {
		t.Fatalf("%d files", len(want))
	}
	reference, err := Reference(home)
	if err != nil {
		t.Fatal(err)
	}
	want["the page"] = string(reference)
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got["the page"] = string(content)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("charts/fairlead is stale: run `make generate` (-generated +Git):\n%.4000s", diff)
	}
}

// contents are the texts of the files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(folder, name))
		all[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The page has no value that the schema refuses, and the schema no value without a default.
func TestEachValueOfTheSchemaHasADefault(t *testing.T) {
	var of valueSchema
	content, err := os.ReadFile(filepath.Join(Home(config), "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &of); err != nil {
		t.Fatal(err)
	}
	var defaults map[string]any
	if content, err = os.ReadFile(filepath.Join(Home(config), "values.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.Unmarshal(content, &defaults); err != nil {
		t.Fatal(err)
	}
	defaults["enabled"] = nil // of a chart that depends on this one
	if diff := cmp.Diff(slices.Sorted(maps.Keys(defaults)), slices.Sorted(maps.Keys(of.Properties))); diff != "" {
		t.Errorf("-values.yaml +schema:\n%s", diff)
	}
}
