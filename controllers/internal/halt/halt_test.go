// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package halt

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnAnnotationEndsAHaltThatCameBeforeIt(t *testing.T) {
	began := time.Date(2026, 11, 24, 5, 0, 7, 600e6, time.UTC)
	at := func(d time.Duration) string { return began.Add(d).Format(time.RFC3339) }
	for name, c := range map[string]struct {
		before, after string // the annotation when the halt began, and now
		now           time.Duration
		ended         bool
		later         time.Duration
	}{
		"none":                            {"", "", time.Hour, false, 0},
		"no time":                         {"", "now", time.Hour, false, 0},
		"set a second before":             {at(-time.Second), at(-time.Second), time.Hour, false, 0},
		"set in the second, before":       {at(0), at(0), time.Hour, false, 0},
		"set in the second, after":        {at(-time.Hour), at(0), time.Millisecond, true, 0},
		"set in the second, for it again": {at(0), at(time.Second), 2 * time.Second, true, 0},
		"set later":                       {"", at(time.Minute), time.Minute, true, 0},
		"set for later":                   {"", at(time.Hour), time.Minute, false, time.Hour},
		"set for later, before":           {at(time.Hour), at(time.Hour), time.Hour, true, 0},
		"in another zone":                 {"", began.Add(time.Minute).In(time.FixedZone("", 3600)).Format(time.RFC3339), time.Minute, true, 0},
		"with a fraction":                 {at(0), began.Format(time.RFC3339Nano), time.Hour, false, 0},
		"set now, for a halt to come":     {"", at(-time.Minute), -time.Minute, true, 0},
		"set long ago, for one to come":   {"", at(-2 * time.Minute), -time.Minute, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ended, later := IsEnded(Began(began, c.before), c.after, began.Add(c.now))
			if ended != c.ended || later.IsZero() != (c.later == 0) || c.later > 0 && !later.Equal(began.Add(c.later).Truncate(time.Second)) {
				t.Errorf("ended %v, later %v", ended, later)
			}
		})
	}
}

func TestARemedyNamesWhatTheAnnotationLacks(t *testing.T) {
	began := metav1.NewTime(time.Date(2026, 11, 24, 5, 0, 7, 0, time.UTC))
	now := began.Add(time.Minute)
	const rule = "to go on, change the spec, or set the annotation resume to the present time (RFC 3339)"
	for value, want := range map[string]string{
		"": rule, "now": rule + `; its value "now" is no such time`,
		"2026-11-24T04:00:00Z": rule + "; its value 2026-11-24T04:00:00Z lies before the halt, which began at 2026-11-24T05:00:07Z",
		"2026-11-24T06:00:00Z": rule + "; its value 2026-11-24T06:00:00Z lies in the future, and ends the halt then",
	} {
		if got := Remedy("resume", began, value, now); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}
