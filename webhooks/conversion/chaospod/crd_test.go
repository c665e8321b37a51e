// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/internal/crdschema"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

func crd(t *testing.T) *crdschema.Kind {
	t.Helper()
	text, err := os.ReadFile("../../../config/crd/bases/chaos.fairlead.dev_chaospods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kind, err := crdschema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

// jsonObject reads numbers as the API server does: whole ones are int64.
func jsonObject(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestSamplesAreValidAndConvert takes each sample through what a cluster does with it: schema,
// conversion to v1, defaults, rules, and the v1 schema again.
func TestSamplesAreValidAndConvert(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/chaos_*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("samples: %v %v", files, err)
	}
	kind := crd(t)
	for _, file := range files {
		sample := fromYAML(t, file)
		obj := jsonObject(t, sample)
		version := "v1"
		if obj["apiVersion"] != "chaos.fairlead.dev/v1" {
			version = "v1alpha1"
		}
		if dropped := kind.Prune(version, obj); len(dropped) > 0 {
			t.Errorf("%s: unknown fields %v", file, dropped)
		}
		if errs := kind.Validate(t.Context(), version, obj, nil); len(errs) > 0 {
			t.Errorf("%s: %v", file, errs)
		}
		stored := typed(t, convert(t, sample, "v1"))
		rules.Default(stored)
		if errs := rules.Validate(stored, nil); len(errs) > 0 {
			t.Errorf("%s: %v", file, errs)
		}
		if warnings := rules.Warnings(stored, nil); len(warnings) > 0 {
			t.Errorf("%s warns: %v", file, warnings)
		}
	}
}
