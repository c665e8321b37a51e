// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryDefinitionIsCarried(t *testing.T) {
	paths, err := filepath.Glob("bases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d CRDs, %v", len(paths), err)
	}
	for _, path := range paths {
		group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".yaml"), "_")
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Definition(group, plural); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
	if _, err := Definition("chaos.fairlead.dev", "tea"); err == nil || !strings.Contains(err.Error(), "no CRD of tea.chaos.fairlead.dev") {
		t.Errorf("got %v", err)
	}
}
