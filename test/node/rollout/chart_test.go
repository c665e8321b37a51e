// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRowsOfTheInstallationAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	read := func(content string) ([]Row, error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return readRows(path)
	}
	rows, err := read(`[{"Scenario": "upgrade by the chart", "Sent": 40, "Failed": 1, "P50": 2000000, "P99": 3000000, "Took": 5000000000}]`)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v: %v", rows, err)
	}
	r := rows[0]
	if r.Scenario != "upgrade by the chart on a real node" || !r.Strict || r.Sent != 40 || r.Lost() != 1 || r.P50 != 2*time.Millisecond || r.Took != 5*time.Second {
		t.Errorf("row %+v", r)
	}
	for _, content := range []string{"[]", "null", "{"} {
		if rows, err := read(content); err == nil {
			t.Errorf("%s: %v", content, rows)
		}
	}
}
