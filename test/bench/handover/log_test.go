// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTheFirstDeedOfAnotherAfterATimeCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reconciles")
	lines := `{"replica":"a","event":"begin","at":"2026-11-21T12:00:00.1Z"}
{"replica":"b","event":"begin","at":"2026-11-21T12:00:00.2Z"}
{"replica":"a","event":"begin","at":"2026-11-21T12:00:01.5Z"}
{"replica":"b","event":"lead","at":"2026-11-21T12:00:01.6Z"}
{"replica":"b","event":"begin","at":"2026-11-21T12:00:01.7Z"}
{"replica":"b","event":"beg`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC)
	got, err := ReconcileLog{path}.First(t.Context(), "begin", at, func(replica string) bool { return replica != "a" })
	if err != nil || got.At.Sub(at) != 700*time.Millisecond {
		t.Errorf("got %+v, %v, want the one at 700 ms", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (ReconcileLog{path}).First(ended, "synced", at, func(string) bool { return true }); err == nil {
		t.Error("an event that was not written was found")
	}
}
