// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/restart"
	"github.com/fairlead-dev/fairlead/internal/schedule"
)

// times are what a spec says of time, read once for each generation of it.
type times struct {
	generation int64
	calendar   *schedule.Calendar
	broken     bool
	// schedules are those of the triggers of type Schedule, by name. One that cannot be read is nil.
	schedules map[string]*schedule.Schedule
}

// timesOf reads a spec.
func timesOf(policy *autorebootv1.RebootPolicy) *times {
	t := &times{generation: policy.Generation, schedules: map[string]*schedule.Schedule{}}
	var err error
	if len(policy.Spec.Windows)+len(policy.Spec.Blackouts) > 0 {
		t.calendar, err = schedule.NewCalendar(policy.Spec.Windows, policy.Spec.Blackouts)
		t.broken = err != nil
	}
	for i := range policy.Spec.Triggers {
		trigger := &policy.Spec.Triggers[i]
		if trigger.Schedule == nil {
			continue
		}
		parsed, err := schedule.Parse(trigger.Schedule.Cron, zoneOf(trigger.Schedule))
		if err != nil {
			parsed = nil
		}
		t.schedules[trigger.Name] = parsed
	}
	return t
}

func zoneOf(s *autorebootv1.ScheduleTrigger) string {
	if s.TimeZone == nil {
		return ""
	}
	return *s.TimeZone
}

// at is what windows and blackouts say, and when they next say something else.
func (t *times) at(now time.Time) (c restart.Calendar, until time.Time) {
	if t.broken {
		return restart.Calendar{Broken: true}, time.Time{}
	}
	moment := t.calendar.At(now)
	c = restart.Calendar{
		Window: moment.Window, Blackout: moment.Blackout,
		NextOpen: t.calendar.NextOpen(now), BlackoutEnds: t.calendar.NextOutsideBlackout(now),
	}
	return c, moment.Until
}
