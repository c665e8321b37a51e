// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package halt

import (
	"testing"
	"time"
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
