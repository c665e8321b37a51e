// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderperiods

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }

// record writes events as "replica event [object] second".
func record(t *testing.T, lines ...string) []Event {
	t.Helper()
	var text strings.Builder
	for _, line := range lines {
		parts := strings.Fields(line)
		var second float64
		if _, err := fmt.Sscan(parts[len(parts)-1], &second); err != nil {
			t.Fatal(err)
		}
		object := ""
		if len(parts) == 4 {
			object = fmt.Sprintf(`"kind":"ExternalService","namespace":"soak","name":%q,`, parts[2])
		}
		_, _ = fmt.Fprintf(&text, `{"replica":%q,"event":%q,%s"at":%q}`+"\n", parts[0], parts[1], object, at(second).Format(time.RFC3339Nano))
	}
	events, err := Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		events  []string
		deaths  map[string]time.Time
		faults  []string // each a part of the fault in its place
		longest time.Duration
	}{
		"one after the other": {
			events:  []string{"a lead 0", "a begin x 1", "a end x 2", "a unlead 3", "b lead 3.5", "b begin x 4", "b end x 5", "b unlead 6"},
			longest: 500 * time.Millisecond,
		},
		"in the very moment the other ended": {
			events: []string{"a lead 0", "a unlead 3", "b lead 3", "b unlead 4"},
		},
		"two lead": {
			events:  []string{"a lead 0", "b lead 2", "a unlead 3", "b unlead 4"},
			faults:  []string{"12:00:02.000000 two at once: a led"},
			longest: -time.Second,
		},
		"two reconcile, of whom one no longer leads": {
			events:  []string{"a lead 0", "a begin x 1", "a unlead 2", "b lead 2.5", "b begin y 3", "b end y 3.5", "a end x 4", "b unlead 5"},
			faults:  []string{"two at once: a reconciled ExternalService soak/x", "without leading: a reconciled ExternalService soak/x"},
			longest: 500 * time.Millisecond,
		},
		"several objects of one replica at once": {
			events: []string{"a lead 0", "a begin x 1", "a begin y 1", "a end y 2", "a end x 3", "a unlead 4"},
		},
		"work that begins in a long one of another": {
			events:  []string{"a lead 0", "a begin x 1", "a begin y 1.1", "a end y 1.2", "b lead 1.5", "b begin z 2", "b end z 3", "b unlead 4", "a end x 5", "a unlead 6"},
			faults:  []string{"12:00:01.500000 two at once", "12:00:02.000000 two at once: a reconciled ExternalService soak/x"},
			longest: -4500 * time.Millisecond,
		},
		"one that was killed ends with its death": {
			events:  []string{"a lead 0", "a begin x 1", "b lead 15", "b begin x 16", "b end x 17", "b unlead 18"},
			deaths:  map[string]time.Time{"a": at(2)},
			longest: 13 * time.Second,
		},
		"one that never ended lasts to the end": {
			events:  []string{"a lead 0", "b lead 15", "b unlead 18"},
			faults:  []string{"two at once: a led from 12:00:00.000000 to 12:01:00.000000"},
			longest: -45 * time.Second,
		},
		"work before leading": {
			events: []string{"a begin x 0", "a lead 1", "a end x 2", "a unlead 3"},
			faults: []string{"without leading: a reconciled ExternalService soak/x"},
		},
		"leading twice": {
			events: []string{"a lead 0", "a unlead 1", "a lead 2", "a unlead 3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := Check(record(t, c.events...), c.deaths, at(60))
			if len(v.Faults) != len(c.faults) {
				t.Fatalf("faults:\n%s\nwant %q", strings.Join(v.Faults, "\n"), c.faults)
			}
			for i, want := range c.faults {
				if !strings.Contains(v.Faults[i], want) {
					t.Errorf("fault %q, want %q", v.Faults[i], want)
				}
			}
			if v.Longest() != c.longest {
				t.Errorf("the longest handover took %s, want %s", v.Longest(), c.longest)
			}
		})
	}
}

func TestWhatAVerdictCounts(t *testing.T) {
	v := Check(record(t, "a lead 0", "a begin x 1", "a end x 2", "a begin x 3", "a end x 4", "a unlead 5", "b lead 6"), nil, at(9))
	want := Verdict{Reconciles: 2, Reigns: []Interval{{Replica: "a", From: at(0), To: at(5)}, {Replica: "b", From: at(6), To: at(9)}}}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	lines := []string{"a lead 0"}
	for range 200 {
		lines = append(lines, "b lead 1", "b unlead 2")
	}
	if v := Check(record(t, lines...), nil, at(60)); len(v.Faults) != maxFaults {
		t.Errorf("%d faults", len(v.Faults))
	}
}

func TestARecordWithAGapIsNone(t *testing.T) {
	for _, text := range []string{
		`{"replica":"a","event":"lead","at":"2026-11-21T12:00:0`,
		`{"replica":"a","event":"reign","at":"2026-11-21T12:00:00Z"}`,
		`{"event":"lead","at":"2026-11-21T12:00:00Z"}`,
		`{"replica":"a","event":"lead"}`,
		"{}" + strings.Repeat(" ", maxLine),
	} {
		if events, err := Read(strings.NewReader(text + "\n")); err == nil {
			t.Errorf("read %v from %.80q", events, text)
		}
	}
}

func TestALineThatIsBeingWrittenIsLeftOut(t *testing.T) {
	const line = `{"replica":"a","event":"lead","at":"2026-11-21T12:00:00Z"}`
	for _, text := range []string{"", line[:20], line} {
		if events, err := Read(strings.NewReader(line + "\n" + text)); err != nil || len(events) != 1 {
			t.Errorf("%d events, %v", len(events), err)
		}
	}
}
