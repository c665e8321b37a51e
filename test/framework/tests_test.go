// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestALineThatNoLogMayHoldIsFound(t *testing.T) {
	folder := t.TempDir()
	pattern := filepath.Join(folder, "fairlead-*.log")
	if got := linesIn(pattern, []string{"panic"}); len(got) != 1 {
		t.Errorf("without a log: %q", got)
	}
	for name, content := range map[string]string{"fairlead-1.log": "fine\na panic: forbidden\nfine\n", "fairlead-2.log": "forbidden\n", "etcd.log": "panic\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"fairlead-1.log: a panic: forbidden", "fairlead-2.log: forbidden"}
	if got := linesIn(pattern, []string{"panic", "forbidden"}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
