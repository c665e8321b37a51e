// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestCalendarAt(t *testing.T) {
	type windows = []common.Window
	nights := windows{in("Europe/Zurich", "0 22 * * 1-5", "6h")}
	turns := windows{in("UTC", "*/2 * * * *", "1m"), in("UTC", "1-59/2 * * * *", "1m")}
	for name, c := range map[string]struct {
		windows, blackouts windows
		at                 string
		want               Moment
		until, nextOpen    string
	}{
		"no windows": {
			at: "2026-05-05T12:00:00Z", want: Moment{Window: true}, nextOpen: "2026-05-05T12:00:00Z"},
		"before a window": {windows: nights,
			at: "2026-05-05T12:00:00Z", until: "2026-05-05T22:00:00+02:00", nextOpen: "2026-05-05T22:00:00+02:00"},
		"a window holds its first instant": {windows: nights,
			at: "2026-05-05T22:00:00+02:00", want: Moment{Window: true}, until: "2026-05-06T04:00:00+02:00", nextOpen: "2026-05-05T22:00:00+02:00"},
		"over midnight, into a day that is not named": {windows: nights,
			at: "2026-05-09T03:59:59+02:00", want: Moment{Window: true}, until: "2026-05-09T04:00:00+02:00", nextOpen: "2026-05-09T03:59:59+02:00"},
		"and not its last": {windows: nights,
			at: "2026-05-09T04:00:00+02:00", until: "2026-05-11T22:00:00+02:00", nextOpen: "2026-05-11T22:00:00+02:00"},
		"over the end of a month": {windows: windows{in("UTC", "0 12 31 1 *", "168h")},
			at: "2026-02-07T11:59:59Z", want: Moment{Window: true}, until: "2026-02-07T12:00:00Z", nextOpen: "2026-02-07T11:59:59Z"},
		"over a leap day": {windows: windows{in("UTC", "0 0 28 2 *", "48h")},
			at: "2028-02-29T23:00:00Z", want: Moment{Window: true}, until: "2028-03-01T00:00:00Z", nextOpen: "2028-02-29T23:00:00Z"},
		"six hours are six hours in spring": {windows: windows{in("Europe/Zurich", "0 22 * * *", "6h")},
			at: "2026-03-29T00:00:00Z", want: Moment{Window: true}, until: "2026-03-29T05:00:00+02:00", nextOpen: "2026-03-29T00:00:00Z"},
		"and in autumn": {windows: windows{in("Europe/Zurich", "0 22 * * *", "6h")},
			at: "2026-10-25T00:00:00Z", want: Moment{Window: true}, until: "2026-10-25T03:00:00+01:00", nextOpen: "2026-10-25T00:00:00Z"},
		"every minute leaves the hour out that comes twice": {windows: windows{in("Europe/Zurich", "* * * * *", "1m")},
			at: "2026-10-20T12:34:56Z", want: Moment{Window: true}, until: "2026-10-25T01:00:00Z", nextOpen: "2026-10-20T12:34:56Z"},
		"no hour is filled that comes twice in a year after a leap year": {windows: windows{in("Europe/Zurich", "* * * * *", "1m")},
			at: "2040-12-31T12:00:00Z", want: Moment{Window: true}, until: "2041-10-27T01:00:00Z", nextOpen: "2040-12-31T12:00:00Z"},
		"nor on the one day that is named": {windows: windows{in("Europe/Zurich", "*/20 * * * 0", "20m")},
			at: "2026-10-24T23:00:00Z", want: Moment{Window: true}, until: "2026-10-25T01:00:00Z", nextOpen: "2026-10-24T23:00:00Z"},
		"one that opens for a day that never was does not wait for the next": {windows: windows{in("Pacific/Apia", "*/10 8-18 * * *", "15m")},
			at: "2011-12-31T00:05:00+14:00", want: Moment{Window: true}, until: "2011-12-31T00:15:00+14:00", nextOpen: "2011-12-31T00:05:00+14:00"},
		"seconds": {windows: windows{in("UTC", "0 12 * * *", "90s")},
			at: "2026-05-05T12:01:29Z", want: Moment{Window: true}, until: "2026-05-05T12:01:30Z", nextOpen: "2026-05-05T12:01:29Z"},
		"windows that touch are one": {windows: windows{in("UTC", "0 12 * * *", "1h"), in("UTC", "0 13 * * *", "1h")},
			at: "2026-05-05T12:30:00Z", want: Moment{Window: true}, until: "2026-05-05T14:00:00Z", nextOpen: "2026-05-05T12:30:00Z"},
		"so are windows of two zones": {windows: windows{in("UTC", "0 12 * * *", "2h"), in("Asia/Tokyo", "0 22 * * *", "3h")},
			at: "2026-05-05T12:30:00Z", want: Moment{Window: true}, until: "2026-05-05T16:00:00Z", nextOpen: "2026-05-05T12:30:00Z"},
		"a window without end": {windows: windows{in("UTC", "0 0 * * *", "24h")},
			at: "2026-05-05T12:30:00Z", want: Moment{Window: true}, nextOpen: "2026-05-05T12:30:00Z"},
		"weekdays and weekends": {windows: windows{in("UTC", "0 0 * * 1-5", "24h"), in("UTC", "0 0 * * 0,6", "24h")},
			at: "2026-05-05T12:30:00Z", want: Moment{Window: true}, nextOpen: "2026-05-05T12:30:00Z"},
		"a blackout wins": {windows: nights, blackouts: windows{in("UTC", "0 0 24 12 *", "72h")},
			at: "2026-12-24T23:00:00+01:00", want: Moment{Window: true, Blackout: "w"},
			until: "2026-12-25T04:00:00+01:00", nextOpen: "2026-12-28T22:00:00+01:00"},
		"a blackout ends inside a window": {windows: nights, blackouts: windows{in("UTC", "0 22 5 5 *", "1h")},
			at: "2026-05-05T22:30:00Z", want: Moment{Window: true, Blackout: "w"},
			until: "2026-05-05T23:00:00Z", nextOpen: "2026-05-05T23:00:00Z"},
		"a blackout without end": {blackouts: windows{in("UTC", "* * * * *", "1h")},
			at: "2026-05-05T22:30:00Z", want: Moment{Window: true, Blackout: "w"}},
		"blacked out each time": {windows: windows{in("UTC", "0 1 * * *", "1h")}, blackouts: windows{in("UTC", "0 0 * * *", "2h")},
			at: "2026-05-05T12:00:00Z", until: "2026-05-06T00:00:00Z"},
		"too many to follow are closed": {windows: turns, blackouts: turns,
			at: "2026-05-05T12:00:00Z", want: Moment{Window: true, Blackout: "w"}, until: "2026-05-11T04:32:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			calendar, err := NewCalendar(&common.Calendar{Windows: c.windows, Blackouts: c.blackouts})
			if err != nil {
				t.Fatal(err)
			}
			at := moment(t, c.at)
			got := calendar.At(at)
			if got.Window != c.want.Window || got.Blackout != c.want.Blackout || !got.Until.Equal(moment(t, c.until)) {
				t.Errorf("At = %+v, want %+v until %q", got, c.want, c.until)
			}
			next := calendar.NextOpen(at)
			if !next.Equal(moment(t, c.nextOpen)) {
				t.Errorf("NextOpen = %v, want %q", next, c.nextOpen)
			}
			if got.Open() != next.Equal(at) {
				t.Errorf("Open = %v, NextOpen = %v", got.Open(), next)
			}
		})
	}
}

func TestWhatIsUrgentWaitsForBlackoutsOnly(t *testing.T) {
	calendar, err := NewCalendar(&common.Calendar{
		Windows:   []common.Window{in("UTC", "0 3 * * 0", "1h")},
		Blackouts: []common.Window{in("Europe/Zurich", "0 0 24 12 *", "72h"), in("UTC", "0 20 26 12 *", "4h")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"2026-12-01T12:00:00Z": "2026-12-01T12:00:00Z",
		"2026-12-24T12:00:00Z": "2026-12-27T00:00:00Z",
	} {
		if got := calendar.NextOutsideBlackout(moment(t, at)); !got.Equal(moment(t, want)) {
			t.Errorf("NextOutsideBlackout(%s) = %v, want %s", at, got, want)
		}
	}
	frozen, err := NewCalendar(&common.Calendar{Blackouts: []common.Window{in("UTC", "@hourly", "1h")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := frozen.NextOutsideBlackout(benchNow); !got.IsZero() {
		t.Errorf("NextOutsideBlackout = %v inside a blackout without end", got)
	}
}

func TestNoCalendarIsAlwaysOpen(t *testing.T) {
	var none *Calendar
	if got := none.At(benchNow); !got.Open() || !got.Until.IsZero() {
		t.Errorf("At = %+v", got)
	}
	if got := none.NextOpen(benchNow); !got.Equal(benchNow) {
		t.Errorf("NextOpen = %v", got)
	}
	if got := none.NextOutsideBlackout(benchNow); !got.Equal(benchNow) {
		t.Errorf("NextOutsideBlackout = %v", got)
	}
}

func TestBrokenWindowsAreNamed(t *testing.T) {
	good := in("UTC", "0 3 * * *", "1h")
	good.Name = "good"
	nameless := good
	nameless.Name = ""
	for name, c := range map[string]struct {
		windows, blackouts []common.Window
		want               []string
	}{
		"cron":          {[]common.Window{good, in("UTC", "0 25 * * *", "1h")}, nil, []string{`window "w"`, `"0 25 * * *"`}},
		"no name":       {[]common.Window{good, nameless}, nil, []string{`window "": has no name`}},
		"zone":          {nil, []common.Window{in("Europe/Atlantis", "0 3 * * *", "1h")}, []string{`blackout "w"`, "Europe/Atlantis"}},
		"never fires":   {nil, []common.Window{good, good, in("UTC", "0 3 31 6 *", "1h")}, []string{`blackout "w"`, "five years"}},
		"no duration":   {[]common.Window{in("UTC", "0 3 * * *", "")}, nil, []string{`window "w"`, "duration"}},
		"too short":     {[]common.Window{in("UTC", "0 3 * * *", "59s")}, nil, []string{`window "w"`, "between 1m and 168h"}},
		"too long":      {[]common.Window{in("UTC", "0 3 * * *", "169h")}, nil, []string{`window "w"`, "between 1m and 168h"}},
		"windows first": {[]common.Window{in("UTC", "x", "1h")}, []common.Window{in("UTC", "x", "1h")}, []string{`window "w"`}},
	} {
		calendar, err := NewCalendar(&common.Calendar{Windows: c.windows, Blackouts: c.blackouts})
		if err == nil || calendar != nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %s", name, err, want)
			}
		}
	}
	if _, err := NewCalendar(&common.Calendar{Windows: []common.Window{in("", "0 3 * * *", "168h")}, Blackouts: []common.Window{in("", "@daily", "1m")}}); err != nil {
		t.Errorf("the bounds themselves, in no zone: %v", err)
	}
}
