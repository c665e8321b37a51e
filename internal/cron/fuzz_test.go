// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/fairlead-dev/fairlead/api/common"
)

// FuzzNext holds any expression, in any zone and at any time, to what Next, Latest and Key
// promise, and in UTC to what the parser's own library finds.
func FuzzNext(f *testing.F) {
	for _, expression := range []string{
		"30 2 * * *", "* * * * *", "@hourly", "@daily", "0 0 29 2 *", "0 0 31 */2 mon", "*/7 1-5/2 ?,3 JAN-mar 0",
		", * * * *", "59 23 31 12 *", "0 12 30 12 *",
	} {
		f.Add(expression, uint8(2), int64(1774746000)) // Europe/Zurich, the spring of 2026
		f.Add(expression, uint8(26), int64(1325152800))
		f.Add(expression, uint8(0), int64(-1))
		f.Add(expression, uint8(15), int64(2240524800)) // the last day of 2040
	}
	f.Fuzz(func(t *testing.T, expression string, zone uint8, unix int64) {
		s, err := Parse(common.Cron(expression), common.TimeZone(tenYears[int(zone)%len(tenYears)]))
		if err != nil {
			return
		}
		at := time.Unix(unix%(300*366*24*60*60), 0)
		next := s.Next(at)
		if next.IsZero() {
			return
		}
		if !next.After(at) || next.After(at.UTC().AddDate(5, 0, 0)) {
			t.Fatalf("Next(%v) = %v is not within the next five years", at, next)
		}
		if got := s.Latest(at, next); !got.Equal(next) {
			t.Fatalf("Latest(%v, %v) = %v", at, next, got)
		}
		if got := s.Latest(at, next.Add(-1)); !got.IsZero() {
			t.Fatalf("Latest(%v) = %v, before Next = %v", at, got, next)
		}
		if following := s.Next(next); !following.IsZero() && s.Key(following) <= s.Key(next) {
			t.Fatalf("runs %v and %v are named %s and %s", next, following, s.Key(next), s.Key(following))
		}
		offset, before := offsetAt(next), offsetAt(next.Add(-time.Second))
		if named := s.fields.matches(minuteOf(next.Unix() + int64(offset))); !named && offset <= before {
			t.Fatalf("Next(%v) = %v, which the expression does not name, nor did the clock skip anything", at, next)
		}
		if zone == 0 {
			agreesInUTC(t, expression, at, next)
		}
	})
}

func agreesInUTC(t *testing.T, expression string, at, next time.Time) {
	t.Helper()
	peer, err := cron.ParseStandard(expression)
	if err != nil {
		t.Fatal(err)
	}
	if want := peer.Next(at.UTC()); !next.Equal(want) {
		t.Fatalf("Next(%v) = %v, robfig/cron %v", at, next, want)
	}
}

func offsetAt(t time.Time) int {
	_, seconds := t.Zone()
	return seconds
}
