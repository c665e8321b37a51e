// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func recorded(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func add(t *testing.T, path string, keep bool, rows ...Row) {
	t.Helper()
	record, err := OpenRecord(path, keep)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := record.Add(row); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARecordHasTheFiguresOfEveryRowAndWhatWasWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "soak.json")
	add(t, path, false,
		Row{Scenario: "replica SIGKILL, webhooks and all", Sent: 21000, Failed: 7, InTheDead: 2, SentToTheDead: 4,
			P50: 5 * time.Millisecond, P99: 40 * time.Millisecond, Faults: []string{"one is unexplained"}},
		Row{Scenario: "leaf rotation", Sent: 20000, P50: 4567 * time.Microsecond, P99: 31 * time.Millisecond})
	want := `[
  {
    "scenario": "leaf rotation",
    "sent": 20000,
    "failed": 0,
    "p50ms": 4.57,
    "p99ms": 31
  },
  {
    "scenario": "replica SIGKILL, webhooks and all",
    "sent": 21000,
    "failed": 7,
    "p50ms": 5,
    "p99ms": 40,
    "inTheDead": 2,
    "sentToTheDead": 4,
    "faults": [
      "one is unexplained"
    ]
  }
]
`
	if diff := cmp.Diff(want, recorded(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestARunOfSomeScenariosReplacesTheirRowsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "soak.json")
	add(t, path, true, Row{Scenario: "leaf rotation", Sent: 1}, Row{Scenario: "rolling update", Sent: 2}, Row{Scenario: "of the past", Sent: 3})
	add(t, path, true, Row{Scenario: "rolling update", Sent: 4}, Row{Scenario: "CA rotation", Sent: 5})
	got := strings.Join(strings.Fields(recorded(t, path)), "")
	for _, part := range []string{
		`[{"scenario":"leafrotation","sent":1,`, `},{"scenario":"CArotation","sent":5,`, `},{"scenario":"rollingupdate","sent":4,`,
	} {
		at := strings.Index(got, part)
		if at < 0 {
			t.Fatalf("%s does not follow: %s", part, got)
		}
		got = got[at:]
	}
	if strings.Contains(got, "past") {
		t.Errorf("a scenario that there is no more has stayed: %s", got)
	}
}

func TestAFullRunStartsOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "soak.json")
	add(t, path, false, Row{Scenario: "leaf rotation", Sent: 1})
	add(t, path, false, Row{Scenario: "CA rotation", Sent: 2})
	if got := recorded(t, path); strings.Contains(got, "leaf") {
		t.Error(got)
	}
}

func TestARecordThatCannotBeReadIsAnErrorWithTheRemedy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "soak.json")
	if err := os.WriteFile(path, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecord(path, true); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("error: %v", err)
	}
	add(t, path, false, Row{Scenario: "leaf rotation"})
}
