// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

var rows = []Row{
	{Scenario: "leaf rotation", Sent: 20000, P50: 4567 * time.Microsecond, P99: 31 * time.Millisecond, Took: 92400 * time.Millisecond,
		Notes: []string{"6 certificates", "no overlap"}},
	{Scenario: "leader kill", Sent: 21000, Failed: 2, InTheDead: 1, P50: 5 * time.Millisecond, P99: 40 * time.Millisecond, Took: time.Minute,
		Faults: []string{"two at once"},
		Reasons: []counters.Reason{{Text: "get v1alpha1: EOF", Count: 2, Outcome: counters.Failed,
			First: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Last: time.Date(2026, 11, 21, 12, 0, 1, 5e6, time.UTC)}}},
}

func TestTheTableShowsEveryRowAndWhatWasWrong(t *testing.T) {
	var out bytes.Buffer
	if err := WriteTable(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
SCENARIO       SENT   FAILED  EXPLAINED  P50 ms  P99 ms  TOOK   WHAT HAPPENED
leaf rotation  20000  0       0          4.6     31.0    1m32s  6 certificates
                                                                no overlap
leader kill    21000  2       1          5.0     40.0    1m0s   
leader kill: two at once
leader kill: 2 failed from 12:00:00.000 to 12:00:01.005: get v1alpha1: EOF
`, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestARowIsSoundWithoutFaultsAndWithoutFailuresThatAReplicaCouldHaveAnswered(t *testing.T) {
	for _, c := range []struct {
		row  Row
		want bool
	}{
		{Row{Sent: 1, Unavailable: 1}, true},
		{Row{Sent: 9, Failed: 1}, false},
		{Row{Sent: 9, Failed: 2, InTheDead: 1, SentToTheDead: 1}, true},
		{Row{Sent: 9, Failed: 3, InTheDead: 2}, false},
		{Row{Sent: 1, Faults: []string{"two at once"}}, false},
	} {
		if got := c.row.Sound(); got != c.want {
			t.Errorf("%+v: sound is %v", c.row, got)
		}
	}
}
