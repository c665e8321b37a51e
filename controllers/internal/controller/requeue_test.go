// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"
)

func TestALookIsAtTheSoonestTimeThatIsSet(t *testing.T) {
	now := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for name, c := range map[string]struct {
		times []time.Time
		want  time.Duration // 0: not by time
	}{
		"none":          {nil, 0},
		"none is set":   {[]time.Time{{}, {}}, 0},
		"the first":     {[]time.Time{in(time.Second), in(time.Minute)}, time.Second},
		"the last":      {[]time.Time{{}, in(time.Minute), in(time.Second)}, time.Second},
		"now":           {[]time.Time{in(0)}, time.Millisecond},
		"it has passed": {[]time.Time{in(time.Hour), in(-time.Hour)}, time.Millisecond},
	} {
		if got := RequeueAt(now, c.times...).RequeueAfter; got != c.want {
			t.Errorf("%s: after %s, want %s", name, got, c.want)
		}
	}
}
