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
	own, err := NewCalendar([]common.Window{{Schedule: "0 6 * * *", Duration: "3h"}}, []common.Window{{Schedule: "0 0 1 1 *", Duration: "1h"}})
	if err != nil {
		t.Fatal(err)
	}
	nightly := Blackout{Name: "nightly", Schedule: "0 10 * * *", Duration: "2h"}
	both := own.And(blackouts(t, once("a", 0, 6), once("b", 5, 8), once("c", 8, 10)).And(blackouts(t, nightly)))
	for hour, want := range map[int]struct {
		blackout  bool
		name      string
		ends      int // the end of the blackouts
		nextOpens int
	}{
		-1: {false, "", -1, 30},
		0:  {true, "a", 12, 30},
		5:  {true, "a", 12, 30},
		7:  {true, "b", 12, 30},
		9:  {true, "c", 12, 30},
		11: {true, "nightly", 12, 30},
		12: {false, "", 12, 30},
		30: {false, "", 30, 30},
		35: {true, "nightly", 36, 54},
	} {
		at := newYear.Add(time.Duration(hour) * time.Hour)
		if m := both.At(at); m.Blackout != want.blackout || m.Open() != (want.nextOpens == hour) {
			t.Errorf("hour %d: %+v", hour, m)
		}
		if name := both.Blackout(at); name != want.name {
			t.Errorf("hour %d: blackout %q, want %q", hour, name, want.name)
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
	if m := c.At(after); m.Blackout || !m.Until.IsZero() || !c.NextOpen(after).Equal(after) {
		t.Errorf("%+v", m)
	}
	if last := after.Add(-time.Nanosecond); !c.At(last).Blackout {
		t.Errorf("not at %s", last)
	}
	var none *Calendar
	if none.And(nil) != nil || none.And(blackouts(t)) != nil || c.And(nil) != c || !none.And(c).At(newYear).Blackout || none.Blackout(newYear) != "" {
		t.Error("a nil Calendar must have no blackouts")
	}
	if endless := blackouts(t, once("a", 0, 24*366*30)); !endless.NextOpen(newYear).IsZero() || !endless.At(newYear).Blackout {
		t.Error("a blackout that ends in thirty years must be one without an end")
	}
}

func TestABlackoutThatIsNotSureIsRefused(t *testing.T) {
	begins := once("a", 0, 6)
	begins.End = nil
	both := once("a", 0, 6)
	both.Schedule, both.Duration = "@daily", "1h"
	many := make([]Blackout, MaxBlackouts+1)
	for i := range many {
		many[i] = once(fmt.Sprint("b", i), 0, 1)
	}
	for want, all := range map[string][]Blackout{
		"blackouts[0]: needs either start and end":                {{Name: "a"}},
		"blackouts[0]: needs start and end":                       {begins},
		"blackouts[0]: needs either":                              {both},
		"blackouts[1]: end: must be after start":                  {once("a", 0, 6), once("b", 6, 6)},
		"blackouts[0]: name \"\": must be a DNS label":            {once("", 0, 6)},
		"blackouts[0]: name \"a\\nb\": must be a DNS label":       {once("a\nb", 0, 6)},
		"blackouts[1]: name \"a\": another blackout has it":       {once("a", 0, 6), once("a", 7, 8)},
		"blackouts[0]: schedule \"no\"":                           {{Name: "a", Schedule: "no", Duration: "1h"}},
		"blackouts[0]: duration \"\"":                             {{Name: "a", Schedule: "@daily"}},
		"blackouts[0]: schedule \"@daily\": unknown time zone":    {{Name: "a", Schedule: "@daily", TimeZone: "Moon/Far", Duration: "1h"}},
		"blackouts: 101 are too many: at most 100":                many,
		"blackouts[0]: duration \"169h\": must be between 1m and": {{Name: "a", Schedule: "@daily", Duration: "169h"}},
	} {
		if _, err := NewBlackouts(all); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
