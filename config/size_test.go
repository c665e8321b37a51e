// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// kubectl keeps what it applies in an annotation, as JSON with escaped angle brackets. An object's
// annotations take 256 KiB together at most, and other tools want some of that.
func TestDefinitionsFitIntoTheAnnotationOfClientSideApply(t *testing.T) {
	const most = 192 << 10
	files, err := filepath.Glob("crd/bases/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition any
		if err := yaml.Unmarshal(raw, &definition); err != nil {
			t.Fatal(err)
		}
		applied, err := json.Marshal(definition)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s takes %d bytes", file, len(applied))
		if len(applied) > most {
			t.Errorf("%s takes %d bytes, want at most %d", file, len(applied), most)
		}
	}
}
