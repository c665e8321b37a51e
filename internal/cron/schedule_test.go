// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/api/common"
)

func TestParseRefusesWhatCannotBeASchedule(t *testing.T) {
	for name, c := range map[string]struct {
		expression common.Cron
		zone       common.TimeZone
		want       string
	}{
		"empty":           {"", "", "five fields"},
		"six fields":      {"0 0 * * * *", "", "five fields"},
		"own zone":        {"TZ=UTC 0 0 * * *", "", "use timeZone"},
		"own cron zone":   {"CRON_TZ=UTC 0 0 * * *", "", "use timeZone"},
		"every":           {"@every 5m", "", "interval"},
		"no minute":       {", 0 * * *", "", "minute \"\""},
		"minute 60":       {"60 0 * * *", "", "takes 0-59"},
		"30 February":     {"0 0 30 2 *", "", "five years"},
		"local":           {"0 0 * * *", "Local", "IANA"},
		"local lowercase": {"0 0 * * *", "local", "IANA"},
		"no such zone":    {"0 0 * * *", "Europe/Atlantis", "unknown time zone"},
		"path as zone":    {"0 0 * * *", "../UTC", "unknown time zone"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.expression, c.zone)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Parse(%q, %q) = %v, want an error with %q", c.expression, c.zone, err, c.want)
			}
		})
	}
	if _, err := Parse("0 0 31 4 *", ""); !errors.Is(err, ErrNeverFires) {
		t.Errorf("31 April: %v, want ErrNeverFires", err)
	}
}

func TestNextAnswersInTheScheduleZone(t *testing.T) {
	s, err := Parse("0 3 * * 0", "Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	got := s.Next(time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC))
	want := time.Date(2026, time.March, 8, 2, 0, 0, 0, time.UTC)
	if !got.Equal(want) {
		t.Errorf("Next = %v, want %v", got, want)
	}
	if _, err := Parse("0 0 29 2 *", "UTC"); err != nil {
		t.Errorf("29 February fires in a leap year: %v", err)
	}
}

func TestNextOverClockChanges(t *testing.T) {
	for name, c := range map[string]struct {
		zone       common.TimeZone
		expression common.Cron
		from       string
		want       []string
	}{
		"a skipped time fires after the gap": {"Europe/Zurich", "30 2 * * *", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		"many skipped times fire once": {"Europe/Zurich", "*/15 2 * * *", "2026-03-29T00:30:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		"and once with the transition itself": {"Europe/Zurich", "*/30 2,3 * * *", "2026-03-29T00:30:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:00:00+02:00"}},
		"a repeated time fires first": {"Europe/Zurich", "30 2 * * *", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		"asked in the repeated hour": {"Europe/Zurich", "30 2 * * *", "2026-10-25T01:10:00Z",
			[]string{"2026-10-26T02:30:00+01:00"}},
		"an hourly schedule is silent in the repeated hour": {"Europe/Zurich", "@hourly", "2026-10-24T23:30:00Z",
			[]string{"2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00"}},
		"half an hour ahead": {"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00Z",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		"half an hour back": {"Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00:00Z",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
		"no midnight": {"America/Sao_Paulo", "@daily", "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		"an evening twice": {"America/Sao_Paulo", "30 23 * * *", "2018-02-17T12:00:00Z",
			[]string{"2018-02-17T23:30:00-02:00", "2018-02-18T23:30:00-03:00"}},
		"a midnight after the evening that comes twice": {"America/Sao_Paulo", "@daily", "2018-02-17T12:00:00Z",
			[]string{"2018-02-18T00:00:00-03:00", "2018-02-19T00:00:00-03:00"}},
		"no midnight in Beirut": {"Asia/Beirut", "0 0 * * *", "2023-03-25T12:00:00Z",
			[]string{"2023-03-26T01:00:00+03:00", "2023-03-27T00:00:00+03:00"}},
		"a day that never was": {"Pacific/Apia", "30 2 * * *", "2011-12-29T13:00:00Z",
			[]string{"2011-12-31T00:00:00+14:00", "2011-12-31T02:30:00+14:00"}},
		"a date that never was": {"Pacific/Apia", "0 12 30 12 *", "2011-01-01T00:00:00Z",
			[]string{"2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"}},
		"winter time is the exception": {"Europe/Dublin", "30 1 * * *", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T02:00:00+01:00", "2026-03-30T01:30:00+01:00"}},
		"back for Ramadan": {"Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00:00Z",
			[]string{"2026-02-15T02:30:00+01:00", "2026-02-16T02:30:00Z"}},
		"ahead after Ramadan": {"Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00:00Z",
			[]string{"2026-03-22T03:00:00+01:00", "2026-03-23T02:30:00+01:00"}},
		"the last day of a leap year to come": {"Europe/Zurich", "0 12 31 12 *", "2040-12-31T06:00:00Z",
			[]string{"2040-12-31T12:00:00+01:00", "2041-12-31T12:00:00+01:00"}},
		"the offset had seconds": {"Africa/Monrovia", "0 12 * * *", "1970-01-01T00:00:00Z",
			[]string{"1970-01-01T12:00:00-00:44", "1970-01-02T12:00:00-00:44"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(c.expression, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, c.from)
			if err != nil {
				t.Fatal(err)
			}
			var got, keys []string
			for range c.want {
				next := s.Next(at)
				if latest := s.Latest(at, next); !latest.Equal(next) {
					t.Errorf("Latest(%v, %v) = %v", at, next, latest)
				}
				got, keys, at = append(got, next.Format(time.RFC3339)), append(keys, s.Key(next)), next
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("firings (-want +got):\n%s", diff)
			}
			for i, key := range keys {
				if key != c.want[i][:len(key)] {
					t.Errorf("Key(%s) = %s", c.want[i], key)
				}
			}
		})
	}
}

func TestNextAnswersNothingBeyondFiveYears(t *testing.T) {
	s, err := Parse("0 0 29 2 *", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Next(time.Date(2096, time.March, 1, 0, 0, 0, 0, time.UTC)); !got.IsZero() {
		t.Errorf("Next = %v although 2100 is no leap year", got)
	}
	if got := s.Next(time.Date(2099, time.February, 28, 23, 59, 59, 0, time.UTC)); !got.IsZero() {
		t.Errorf("Next = %v, a day beyond the five years", got)
	}
	want := time.Date(2104, time.February, 29, 0, 0, 0, 0, time.UTC)
	if got := s.Next(want.AddDate(-5, 0, 0)); !got.Equal(want) {
		t.Errorf("Next = %v, want %v, five years to the second", got, want)
	}
}

func TestLatestIsTheLastThatNextWalksOver(t *testing.T) {
	s, err := Parse("*/20 1-3 * * *", "Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []int{28, 29, 30} {
		after := time.Date(2026, time.March, day, 0, 0, 0, 0, time.UTC)
		var walked time.Time
		for until := after; until.Before(after.Add(24 * time.Hour)); until = until.Add(7 * time.Minute) {
			for next := s.Next(after); !next.After(until); next = s.Next(next) {
				walked = next
			}
			if got := s.Latest(after, until); !got.Equal(walked) {
				t.Errorf("Latest(%v, %v) = %v, want %v", after, until, got, walked)
			}
		}
	}
}

func TestLatestIsExactAtBothEnds(t *testing.T) {
	s, err := Parse("0 3 * * *", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	fired := time.Date(2026, time.May, 5, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ after, until, want time.Time }{
		"a firing at the end counts":           {fired.Add(-time.Hour), fired, fired},
		"a moment before it does not":          {fired.Add(-time.Hour), fired.Add(-1), time.Time{}},
		"a firing at the beginning does not":   {fired, fired.Add(time.Hour), time.Time{}},
		"a moment before the firing does":      {fired.Add(-1), fired.Add(time.Hour), fired},
		"the beginning of time finds the last": {time.Time{}, fired.Add(time.Hour), fired},
		"nothing lies in an empty span":        {fired, fired, time.Time{}},
		"nor in one that is backwards":         {fired.Add(time.Hour), fired.Add(-time.Hour), time.Time{}},
	} {
		if got := s.Latest(c.after, c.until); !got.Equal(c.want) {
			t.Errorf("%s: Latest = %v, want %v", name, got, c.want)
		}
	}
}
