// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"strings"
	"time"
)

// ErrNeverFires marks a schedule without a single moment in five years, such as 30 February.
var ErrNeverFires = errors.New("fires at no time within five years")

// horizonYears is how far ahead anything is looked for. An expression has no year, and five years
// hold a leap day wherever a century does not leave one out.
const horizonYears = 5

// horizonStart opens the five years, one of them a leap year, in which a schedule must fire. An
// expression has no year, so any such span decides for all: the rule needs no clock.
var horizonStart = time.Date(2023, time.January, 1, 0, 0, 0, 0, time.UTC)

// Schedule is a cron expression bound to a time zone. It is immutable.
type Schedule struct {
	fields fields
	clock  clock
}

// Parse reads a five-field expression, or one of @hourly, @daily, @midnight, @weekly, @monthly,
// @yearly and @annually, in the IANA time zone; an empty zone means UTC. It refuses expressions
// that carry a zone of their own, and those that never fire.
func Parse(expression, zone string) (*Schedule, error) {
	if strings.Contains(expression, "TZ=") {
		return nil, errors.New("carries a time zone: use timeZone")
	}
	location, err := Location(zone)
	if err != nil {
		return nil, err
	}
	parsed, err := parseFields(expression)
	if err != nil {
		return nil, err
	}
	s := &Schedule{fields: parsed, clock: clock{location}}
	if s.Next(horizonStart).IsZero() {
		return nil, ErrNeverFires
	}
	return s, nil
}

// Next returns the first moment strictly after t at which the schedule fires, in the schedule's
// zone, or the zero time if there is none within five years.
//
// A local time that the clock skips fires at the first instant after the gap, once, however many
// matching times were skipped. A local time that comes twice fires when it first comes. Wildcards
// are no exception: an hourly schedule stays silent in the hour that the clock repeats.
func (s *Schedule) Next(t time.Time) time.Time {
	horizon := t.UTC().AddDate(horizonYears, 0, 0)
	minute, ok := s.fields.next(minuteOf(s.clock.shown(t.Unix())), minuteOf(horizon.Unix()+maxOffset))
	if !ok {
		return time.Time{}
	}
	fires := s.clock.first(minute)
	if fires.After(horizon) {
		return time.Time{}
	}
	return fires
}

// Latest returns the last moment after the one and not after the other at which the schedule
// fired, in the schedule's zone, or the zero time if there is none. What it costs does not depend
// on how often the schedule fires.
func (s *Schedule) Latest(after, until time.Time) time.Time {
	minute, ok := s.fields.latest(minuteOf(s.clock.shown(until.Unix())), minuteOf(after.Unix()-maxOffset))
	if !ok {
		return time.Time{}
	}
	fired := s.clock.first(minute)
	if !fired.After(after) {
		return time.Time{}
	}
	return fired
}

// Key names the run that fired at that moment by what the clock on the wall showed, such as
// "2026-03-29T03:00". Later runs have greater names, so no two share one.
func (s *Schedule) Key(fired time.Time) string {
	return fired.In(s.clock.location).Format("2006-01-02T15:04")
}
