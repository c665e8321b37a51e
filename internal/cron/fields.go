// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"math/bits"
	"time"
)

const (
	minutesPerHour = 60
	minutesPerDay  = 24 * minutesPerHour
)

// fields are the local minutes that an expression matches, with one bit for each value. Minutes are counted
// from the first one of 1970 without regard to zones: all days have 24 hours.
type fields struct {
	minutes, hours, days, months, weekdays uint64

	// eitherDay is the rule of crontab(5) for expressions that restrict both the day of the month
	// and the day of the week: one of them suffices.
	eitherDay bool
}

// next returns the first matching minute after a minute and not after the limit.
func (f *fields) next(after, limit int64) (int64, bool) {
	day := floor(after+1, minutesPerDay)
	from := after + 1 - day*minutesPerDay
	for last := floor(limit, minutesPerDay); day <= last; from = 0 {
		ok, _, ahead := f.day(day)
		if ok {
			if minute, found := f.fromMinute(from); found {
				return day*minutesPerDay + minute, day*minutesPerDay+minute <= limit
			}
		}
		day += ahead
	}
	return 0, false
}

// latest returns the last matching minute up to a minute and not before the limit.
func (f *fields) latest(upTo, limit int64) (int64, bool) {
	day := floor(upTo, minutesPerDay)
	to := upTo - day*minutesPerDay
	for first := floor(limit, minutesPerDay); day >= first; to = minutesPerDay - 1 {
		ok, back, _ := f.day(day)
		if ok {
			if minute, found := f.toMinute(to); found {
				return day*minutesPerDay + minute, day*minutesPerDay+minute >= limit
			}
		}
		day -= back
	}
	return 0, false
}

// matches reports whether the expression matches a minute.
func (f *fields) matches(minute int64) bool {
	_, ok := f.latest(minute, minute)
	return ok
}

// day reports whether the expression matches a day, and how many days back and ahead another match may be.
func (f *fields) day(day int64) (ok bool, back, ahead int64) {
	_, month, date := time.Unix(day*secondsPerDay, 0).UTC().Date()
	if !has(f.months, int64(month)) {
		return false, int64(date), int64(max(1, 29-date))
	}
	weekday := day + 4 - 7*floor(day+4, 7) // 1970 began on a Thursday
	onDay, onWeekday := has(f.days, int64(date)), has(f.weekdays, weekday)
	if f.eitherDay {
		return onDay || onWeekday, 1, 1
	}
	return onDay && onWeekday, 1, 1
}

// everyDay reports whether the expression matches every day.
func (f *fields) everyDay() bool {
	const days, months, weekdays = 1<<32 - 1<<1, 1<<13 - 1<<1, 1<<7 - 1
	if f.months != months {
		return false
	}
	if f.eitherDay {
		return f.days == days || f.weekdays == weekdays
	}
	return f.days == days && f.weekdays == weekdays
}

// fromMinute returns the first matching minute of a day from one on.
func (f *fields) fromMinute(from int64) (int64, bool) {
	hour := from / minutesPerHour
	if rest := f.minutes >> (from % minutesPerHour); has(f.hours, hour) && rest != 0 {
		return from + int64(bits.TrailingZeros64(rest)), true
	}
	later := f.hours >> (hour + 1) << (hour + 1)
	if later == 0 || f.minutes == 0 {
		return 0, false
	}
	return int64(bits.TrailingZeros64(later)*minutesPerHour + bits.TrailingZeros64(f.minutes)), true
}

// toMinute returns the last matching minute of a day up to one.
func (f *fields) toMinute(to int64) (int64, bool) {
	hour := to / minutesPerHour
	if rest := f.minutes & (2<<(to%minutesPerHour) - 1); has(f.hours, hour) && rest != 0 {
		return hour*minutesPerHour + int64(bits.Len64(rest)-1), true
	}
	earlier := f.hours & (1<<hour - 1)
	if earlier == 0 || f.minutes == 0 {
		return 0, false
	}
	return int64((bits.Len64(earlier)-1)*minutesPerHour + bits.Len64(f.minutes) - 1), true
}

func has(set uint64, value int64) bool { return set>>value&1 == 1 }
