// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/freeze"
)

// calendarSpec are what a spec says of time, read once for each generation of it.
type calendarSpec struct {
	generation int64
	calendar   *cron.Calendar
	broken     bool
	// schedules are those of the triggers of type Schedule, by name. One that cannot be read is nil.
	schedules map[string]*cron.Schedule
}

// parseCalendar reads a spec.
func parseCalendar(policy *autorebootv1.RebootPolicy) *calendarSpec {
	t := &calendarSpec{generation: policy.Generation, schedules: map[string]*cron.Schedule{}}
	var err error
	if len(policy.Spec.Windows)+len(policy.Spec.Blackouts) > 0 {
		t.calendar, err = cron.NewCalendar(policy.Spec.Windows, policy.Spec.Blackouts)
		t.broken = err != nil
	}
	for i := range policy.Spec.Triggers {
		trigger := &policy.Spec.Triggers[i]
		if trigger.Schedule == nil {
			continue
		}
		parsed, err := cron.Parse(trigger.Schedule.Cron, timeZoneOf(trigger.Schedule))
		if err != nil {
			parsed = nil
		}
		t.schedules[trigger.Name] = parsed
	}
	return t
}

func timeZoneOf(s *autorebootv1.ScheduleTrigger) string {
	if s.TimeZone == nil {
		return ""
	}
	return *s.TimeZone
}

// at is what windows and blackouts say, those of the cluster included, and when they next say something
// else.
func (t *calendarSpec) at(now time.Time, cluster freeze.State) (c restart.Calendar, until time.Time) {
	words := cluster.Message(now)
	if cluster.Unknown != "" || t.broken {
		return restart.Calendar{Broken: true, Cluster: words}, cluster.Blackouts.At(now).Until
	}
	calendar := t.calendar.And(cluster.Blackouts)
	moment := calendar.At(now)
	c = restart.Calendar{
		Window: moment.Window, Blackout: moment.Blackout, Cluster: words,
		NextOpen: calendar.NextOpen(now), BlackoutEnds: calendar.NextOutsideBlackout(now),
	}
	return c, moment.Until
}

// enqueueAll has every policy look at what holds all of them, which has changed: the blackouts of the cluster,
// or whether this process suspects itself.
func (r *Reconciler) enqueueAll() {
	for _, key := range r.watchIndex.All() {
		r.enqueuer.EnqueueCoalesced(key)
	}
}
