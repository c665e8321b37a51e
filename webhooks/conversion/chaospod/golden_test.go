// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
)

var update = flag.Bool("update", false, "write what the converter says as the golden files")

// TestGolden converts each testdata/<name>.in.yaml to its other version, compares with
// <name>.out.yaml, and demands the way back to give the input again.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.yaml"), func(t *testing.T) {
			from := fromYAML(t, input)
			there := convert(t, from, other(t, from))
			output := strings.Replace(input, ".in.yaml", ".out.yaml", 1)
			if *update {
				text, err := yaml.JSONToYAML(there)
				if err == nil {
					err = os.WriteFile(output, text, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(value(t, fromYAML(t, output)), value(t, there)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", output, diff)
			}
			back := convert(t, there, other(t, there))
			if diff := cmp.Diff(value(t, from), value(t, back)); diff != "" {
				t.Errorf("the way back (-want +got):\n%s", diff)
			}
		})
	}
}

func fromYAML(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func convert(t testing.TB, raw []byte, version string) []byte {
	t.Helper()
	out, err := New().Convert(raw, version)
	if err != nil {
		t.Fatalf("convert %s to %s: %v", raw, version, err)
	}
	return out
}

// other returns the version that the object is not at.
func other(t testing.TB, raw []byte) string {
	t.Helper()
	if value(t, raw)["apiVersion"] == "chaos.fairlead.dev/v1" {
		return "v1alpha1"
	}
	return "v1"
}

func value(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// restores returns which restore annotations an object carries.
func restores(t testing.TB, raw []byte) []string {
	t.Helper()
	metadata, _ := value(t, raw)["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	var names []string
	for _, name := range []string{common.ConversionDataAnnotation, common.V1Alpha1DataAnnotation} {
		if _, has := annotations[name]; has {
			names = append(names, name)
		}
	}
	return names
}
