// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"testing"
	"time"
)

// wall is the slow model of a local clock: the minutes that it shows, counted as if they were UTC, at
// every single minute from the first on.
type wall struct {
	name  string
	first time.Time
	local []int32

	// changes are the minutes at which it shows anything but the next minute.
	changes []int
}

// wallOf asks the zone once an hour, and every minute of an hour at whose ends it differs.
func wallOf(t *testing.T, zone string, from, to int) wall {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	w := wall{name: zone, first: time.Date(from, time.January, 1, 0, 0, 0, 0, time.UTC)}
	minutes := int(time.Date(to+1, time.January, 1, 0, 0, 0, 0, time.UTC).Sub(w.first) / time.Minute)
	w.local = make([]int32, minutes)
	offset := func(i int) int {
		_, seconds := w.at(i).In(location).Zone()
		return seconds / 60
	}
	start, atStart := int(w.first.Unix()/60), offset(0)
	for hour := 0; hour < minutes; hour += 60 {
		atEnd := offset(hour + 60)
		for i := hour; i < hour+60; i++ {
			ahead := atStart
			if atStart != atEnd {
				ahead = offset(i)
			}
			w.local[i] = int32(start + i + ahead)
			if i > 0 && w.local[i] != w.local[i-1]+1 {
				w.changes = append(w.changes, i)
			}
		}
		atStart = atEnd
	}
	return w
}

func (w wall) at(i int) time.Time { return w.first.Add(time.Duration(i) * time.Minute) }

// firings watches the clock minute by minute and writes down when the expression is due. It
// remembers every minute that was ever shown, so as not to fire for it again.
func (w wall) firings(e *expression) []int32 {
	const margin = 2 * 24 * 60 // no clock jumps farther
	base := w.local[0] - margin
	shown := make([]bool, len(w.local)+2*margin)
	var fired []int32
	last := w.local[0] - 1
	for i, local := range w.local {
		due := !shown[local-base] && e.names(local)
		for skipped := last + 1; skipped < local; skipped++ {
			due = due || !shown[skipped-base] && e.names(skipped)
		}
		if due {
			fired = append(fired, int32(i))
		}
		shown[local-base] = true
		last = local
	}
	return fired
}

// expression is a cron expression beside what it means, both from the generator: the model never
// reads the text.
type expression struct {
	text                                   string
	minutes, hours, days, months, weekdays [60]bool
	eitherDay                              bool

	day   int32 // the day that onDay is about
	onDay bool
}

// names reports whether the expression matches a local minute.
func (e *expression) names(local int32) bool {
	if !e.minutes[local%60] || !e.hours[local/60%24] {
		return false
	}
	if day := local / (24 * 60); day != e.day {
		e.day, e.onDay = day, e.namesDay(time.Unix(int64(day)*24*60*60, 0).UTC())
	}
	return e.onDay
}

func (e *expression) namesDay(midnight time.Time) bool {
	date, weekday := e.days[midnight.Day()], e.weekdays[midnight.Weekday()]
	if e.eitherDay {
		return e.months[midnight.Month()] && (date || weekday)
	}
	return e.months[midnight.Month()] && date && weekday
}
