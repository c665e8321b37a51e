// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones must resolve in an image that ships no zone database

	"github.com/robfig/cron/v3"
)

// ErrNeverFires marks a schedule without a single moment in five years, such as 30 February.
var ErrNeverFires = errors.New("fires at no time within five years")

// horizonStart opens the five years, one of them a leap year, in which a schedule must fire. An
// expression has no year, so any such span answers for all: the rule needs no clock.
var horizonStart = time.Date(2023, time.January, 1, 0, 0, 0, 0, time.UTC)

// parser takes the five fields of crontab(5) and its named descriptors. It has no seconds, and
// no "@every", whose phase would depend on when the process started.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Schedule is a cron expression bound to a time zone.
type Schedule struct{ inner cron.Schedule }

// Parse reads a five-field expression, or one of @hourly, @daily, @midnight, @weekly, @monthly,
// @yearly and @annually, in the IANA time zone; an empty zone means UTC. It refuses expressions
// that carry a zone of their own, and those that never fire.
func Parse(expression, zone string) (*Schedule, error) {
	if strings.Contains(expression, "TZ=") {
		return nil, errors.New("carries a time zone: use timeZone")
	}
	if strings.HasPrefix(expression, "@every") {
		return nil, errors.New("@every is not a schedule: use an interval")
	}
	location, err := Location(zone)
	if err != nil {
		return nil, err
	}
	inner, err := parser.Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("not a five-field cron expression: %w", err)
	}
	if spec, ok := inner.(*cron.SpecSchedule); ok {
		spec.Location = location
	}
	if inner.Next(horizonStart).IsZero() {
		return nil, ErrNeverFires
	}
	return &Schedule{inner: inner}, nil
}

// Next answers the first moment strictly after t at which the schedule fires.
func (s *Schedule) Next(t time.Time) time.Time { return s.inner.Next(t) }

// Location loads an IANA time zone; an empty name means UTC. "Local" is refused in any case: it
// would mean another zone in every pod.
func Location(zone string) (*time.Location, error) {
	if strings.EqualFold(zone, "local") {
		return nil, errors.New(`"Local" depends on where the process runs: use an IANA name such as Europe/Zurich`)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: use an IANA name such as Europe/Zurich", zone)
	}
	return location, nil
}
