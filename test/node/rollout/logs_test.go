// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"os"
	"path/filepath"
	"testing"
)

func TestALogIsCopiedAsItGrows(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "0.log"), filepath.Join(folder, "copy.log")
	for _, content := range []string{"one\n", "one\ntwo\n", "one\ntwo\n"} {
		if err := os.WriteFile(from, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := appendNew(from, to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); err != nil || string(got) != content {
			t.Errorf("the copy of %q is %q (%v)", content, got, err)
		}
	}
}
