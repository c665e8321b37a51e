// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

var newYear = time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)

// once is a blackout of hours after newYear.
func once(name string, from, until int) Blackout {
	start, end := metav1.NewTime(newYear.Add(time.Duration(from)*time.Hour)), metav1.NewTime(newYear.Add(time.Duration(until)*time.Hour))
	return Blackout{Name: name, Start: &start, End: &end}
}

func blackouts(t *testing.T, all ...Blackout) *Calendar {
	t.Helper()
	c, err := NewBlackouts(all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBlackoutsThatTouchOrOverlapAreOne(t *testing.T) {
	own, err := NewCalendar(&common.Calendar{Windows: []common.Window{in("", "0 6 * * *", "3h")}, Blackouts: []common.Window{in("", "0 0 1 1 *", "1h")}})
	if err != nil {
		t.Fatal(err)
	}
	nightly := Blackout{Name: "nightly", Cron: "0 10 * * *", Duration: "2h"}
	both := own.And(blackouts(t, once("a", 0, 6), once("b", 5, 8), once("c", 8, 10)).And(blackouts(t, nightly)))
	for hour, want := range map[int]struct {
		name      string // of the blackout
		ends      int    // the end of the blackouts
		nextOpens int
	}{
		-1: {"", -1, 30},
		0:  {"w", 12, 30}, // its own first
		5:  {"a", 12, 30},
		7:  {"b", 12, 30},
		9:  {"c", 12, 30},
		11: {"nightly", 12, 30},
		12: {"", 12, 30},
		30: {"", 30, 30},
		35: {"nightly", 36, 54},
	} {
		at := newYear.Add(time.Duration(hour) * time.Hour)
		if m := both.At(at); m.Blackout != want.name || m.Open() != (want.nextOpens == hour) {
			t.Errorf("hour %d: %+v", hour, m)
		}
		if got := both.NextOutsideBlackout(at); !got.Equal(newYear.Add(time.Duration(want.ends) * time.Hour)) {
			t.Errorf("hour %d: ends at %s, want hour %d", hour, got, want.ends)
		}
		if got := both.NextOpen(at); !got.Equal(newYear.Add(time.Duration(want.nextOpens) * time.Hour)) {
			t.Errorf("hour %d: opens at %s, want hour %d", hour, got, want.nextOpens)
		}
	}
	if until := both.At(newYear.Add(-time.Hour)).Until; !until.Equal(newYear) {
		t.Errorf("before: nothing changes until %s, want %s", until, newYear)
	}
}

func TestABlackoutThatComesOnceDoesNotComeAgain(t *testing.T) {
	c := blackouts(t, once("a", 0, 6))
	after := newYear.Add(6 * time.Hour)
	if m := c.At(after); m.Blackout != "" || !m.Until.IsZero() || !c.NextOpen(after).Equal(after) {
		t.Errorf("%+v", m)
	}
	if last := after.Add(-time.Nanosecond); c.At(last).Blackout != "a" {
		t.Errorf("not at %s", last)
	}
	var none *Calendar
	if none.And(nil) != nil || none.And(blackouts(t)) != nil || c.And(nil) != c || none.And(c).At(newYear).Blackout != "a" || none.Blackout(newYear) != "" {
		t.Error("a nil Calendar must have no blackouts")
	}
	if endless := blackouts(t, once("a", 0, 24*366*30)); !endless.NextOpen(newYear).IsZero() || endless.At(newYear).Blackout != "a" {
		t.Error("a blackout that ends in thirty years must be one without an end")
	}
}

func TestABlackoutThatIsNotSureIsRefused(t *testing.T) {
	begins := once("a", 0, 6)
	begins.End = nil
	both := once("a", 0, 6)
	both.Cron, both.Duration = "@daily", "1h"
	many := make([]Blackout, MaxBlackouts+1)
	for i := range many {
		many[i] = once(fmt.Sprint("b", i), 0, 1)
	}
	window := func(cron common.Cron, zone common.TimeZone, duration common.Duration) []Blackout {
		return []Blackout{{Name: "a", Cron: cron, TimeZone: zone, Duration: duration}}
	}
	for want, all := range map[string][]Blackout{
		`blackout "a": needs either start and end, or cron`:     window("", "", ""),
		`blackout "a": needs start and end`:                     {begins},
		`blackout "a": needs either`:                            {both},
		`blackout "b": end: must be after start`:                {once("a", 0, 6), once("b", 6, 6)},
		`blackout "": the name must be a DNS label`:             {once("", 0, 6)},
		`blackout "a\nb": the name must be a DNS label`:         {once("a\nb", 0, 6)},
		`blackout "a": another one has this name`:               {once("a", 0, 6), once("a", 7, 8)},
		`blackout "a": cron "no"`:                               window("no", "", "1h"),
		`blackout "a": duration ""`:                             window("@daily", "", ""),
		`blackout "a": cron "@daily": unknown time zone`:        window("@daily", "Moon/Far", "1h"),
		`blackouts: 101 are too many: at most 100`:              many,
		`blackout "a": duration "169h": must be between 1m and`: window("@daily", "", "169h"),
	} {
		if _, err := NewBlackouts(all); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A window counts a local time that comes twice once; a blackout holds both times.
func TestABlackoutHoldsThroughTheHourThatComesTwice(t *testing.T) {
	const berlin, lordHowe = "Europe/Berlin", "Australia/Lord_Howe"
	for name, c := range map[string]struct {
		cron     common.Cron
		zone     common.TimeZone
		duration common.Duration
		from, to string // it holds at each minute from one to before the other
		open     string // and not then
	}{
		"the whole day of 25 hours":         {"0 0 * * *", berlin, "24h", "2026-10-24T22:00:00Z", "2026-10-26T23:00:00Z", ""},
		"always, in quarters":               {"*/15 * * * *", berlin, "15m", "2026-10-24T23:00:00Z", "2026-10-25T04:00:00Z", ""},
		"within the hour":                   {"0 2 * * *", berlin, "15m", "2026-10-25T00:00:00Z", "2026-10-25T01:15:00Z", "2026-10-25T01:15:00Z"},
		"until the end of the hour":         {"45 2 * * *", berlin, "15m", "2026-10-25T00:45:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"},
		"before the hour":                   {"0 1 * * *", berlin, "1h", "2026-10-24T23:00:00Z", "2026-10-25T00:00:00Z", ""},
		"half an hour of Lord Howe":         {"*/10 * * * *", lordHowe, "10m", "2026-04-04T14:00:00Z", "2026-04-04T17:00:00Z", ""},
		"across the hour that is left out":  {"0 1 * * *", berlin, "2h", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z", "2026-03-29T02:00:00Z"},
		"a day without a change of clock":   {"0 2 * * *", berlin, "15m", "2026-10-26T01:00:00Z", "2026-10-26T01:15:00Z", "2026-10-26T01:15:00Z"},
		"over several days with the change": {"0 0 * * 6", berlin, "48h", "2026-10-23T22:00:00Z", "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			calendar, err := NewCalendar(&common.Calendar{Blackouts: []common.Window{in(c.zone, c.cron, c.duration)}})
			if err != nil {
				t.Fatal(err)
			}
			of := func(text string) time.Time {
				at, err := time.Parse(time.RFC3339, text)
				if err != nil {
					t.Fatal(err)
				}
				return at
			}
			for at := of(c.from); at.Before(of(c.to)); at = at.Add(time.Minute) {
				if moment := calendar.At(at); moment.Blackout == "" || !moment.Until.IsZero() && !moment.Until.After(at) {
					t.Fatalf("%s: %+v", at, moment)
				}
				if next := calendar.NextOutsideBlackout(at); !next.IsZero() && next.Before(of(c.to)) && c.open != "" {
					t.Fatalf("%s: the blackout ends at %s", at, next)
				}
			}
			if c.open != "" && calendar.At(of(c.open)).Blackout != "" {
				t.Errorf("it holds at %s", c.open)
			}
		})
	}
}
