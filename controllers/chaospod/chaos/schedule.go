// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/cron"
)

const (
	minInterval = 10 * time.Second
	maxJitter   = 50
	// lookBack is how far back the previous run of a schedule is searched, and maxLookahead how many runs are checked
	// for one that windows and blackouts allow.
	lookBack     = 5 * 366 * 24 * time.Hour
	maxLookahead = 400
)

// Schedule is the parsed schedule of a spec. It is valid for one generation of the object, and immutable.
type Schedule struct {
	cron     *cron.Schedule
	interval time.Duration
	// at is the first or only run; zero without one. created is when the object was created.
	at, created time.Time
	// jitter is a percentage, and seed makes it differ between objects.
	jitter   int64
	seed     string
	calendar *cron.Calendar
	// invalid is why nothing starts: a part of the spec cannot be parsed.
	invalid string
}

// ScheduleOf parses a spec.
func ScheduleOf(p *chaosv1.ChaosPod) *Schedule {
	spec := &p.Spec.Schedule
	t := &Schedule{created: p.CreationTimestamp.Time, seed: string(p.UID)}
	if spec.At != nil {
		t.at = spec.At.UTC().Truncate(time.Second)
	}
	if spec.JitterPercent != nil {
		t.jitter = int64(min(max(*spec.JitterPercent, 0), maxJitter))
	}
	var err error
	if t.calendar, err = cron.NewCalendar(&p.Spec.Calendar); err != nil {
		t.invalid = err.Error()
	}
	if spec.Cron != "" {
		if t.cron, err = cron.Parse(spec.Cron, spec.TimeZone); err != nil {
			t.invalid = "schedule.cron: " + err.Error()
		}
	}
	if spec.Interval != "" {
		if t.interval, err = spec.Interval.Parse(); err != nil || t.interval < minInterval {
			t.invalid, t.interval = "schedule.interval cannot be read", 0
		}
	}
	return t
}

// With returns the schedule with further blackouts, such as those of the whole cluster; nil adds none.
func (t *Schedule) With(blackouts *cron.Calendar) *Schedule {
	if blackouts == nil {
		return t
	}
	with := *t
	with.calendar = t.calendar.And(blackouts)
	return &with
}

// slot is one run of the schedule: its time, and when it is due with jitter. It is zero for none.
type slot struct{ at, due time.Time }

// once reports whether there is only one run.
func (t *Schedule) once() bool { return t.cron == nil && t.interval == 0 }

// next returns the first run of the schedule after a time, without jitter; zero for none.
func (t *Schedule) next(after time.Time) time.Time {
	switch {
	case !t.at.IsZero() && t.at.After(after):
		return t.at
	case t.cron != nil:
		return t.cron.Next(after)
	case t.interval > 0:
		n := int64(max(after.Sub(t.anchor()), 0)/t.interval) + 1
		if n > int64(math.MaxInt64/t.interval) {
			return time.Time{} // centuries from now
		}
		return t.anchor().Add(time.Duration(n) * t.interval)
	}
	return time.Time{}
}

// last returns the last run of the schedule up to a time, without jitter; zero for none.
func (t *Schedule) last(until time.Time) time.Time {
	var found time.Time
	switch {
	case !t.at.IsZero() && t.at.After(until):
		return found
	case t.cron != nil:
		from := until.Add(-lookBack)
		if t.at.After(from) {
			from = t.at
		}
		found = t.cron.Latest(from, until)
	case t.interval > 0:
		if n := int64(until.Sub(t.anchor()) / t.interval); n >= 1 {
			found = t.anchor().Add(time.Duration(n) * t.interval)
		}
	}
	if found.IsZero() {
		return t.at
	}
	return found
}

func (t *Schedule) anchor() time.Time {
	if t.at.IsZero() {
		return t.created
	}
	return t.at
}

// slot returns when a run is due. Jitter depends on the object and the run alone, so that each leader computes the same,
// and never moves a run past another one.
func (t *Schedule) slot(at time.Time) slot {
	if at.IsZero() {
		return slot{}
	}
	s := slot{at, at.Truncate(time.Second)}
	if t.jitter == 0 || at.Equal(t.at) {
		return s
	}
	const scale = 1 << 20
	sum := sha256.Sum256([]byte(t.seed + "/" + at.UTC().Format(time.RFC3339Nano)))
	part := int64(binary.BigEndian.Uint32(sum[:])%(2*scale+1)) - scale
	gap := t.next(at).Sub(at)
	if part < 0 {
		if before := t.last(at.Add(-time.Nanosecond)); !before.IsZero() {
			gap = at.Sub(before)
		} else if t.interval > 0 {
			gap = t.interval
		}
	}
	if gap <= 0 { // there is no next one
		return s
	}
	moved := s.due.Add(time.Duration(int64(gap/time.Second)*t.jitter*part/(100*scale)) * time.Second)
	if t.calendar.At(moved).Open() || !t.calendar.At(s.due).Open() {
		s.due = moved
	}
	return s
}

// latestDue returns the last run that is due by now.
func (t *Schedule) latestDue(now time.Time) slot {
	at := t.next(now)
	for range 3 {
		if s := t.slot(at); !s.due.IsZero() && !s.due.After(now) {
			return s
		}
		if at.IsZero() {
			at = now.Add(time.Nanosecond)
		}
		if at = t.last(at.Add(-time.Nanosecond)); at.IsZero() {
			break
		}
	}
	return slot{}
}

// nextDue returns the first run that is due after a time.
func (t *Schedule) nextDue(after time.Time) slot {
	at := t.last(after)
	if at.IsZero() {
		at = t.next(after)
	}
	for range 4 { // jitter moves none past another
		if s := t.slot(at); s.due.After(after) {
			return s
		}
		if at = t.next(at); at.IsZero() {
			break
		}
	}
	return slot{}
}

// Starts returns when runs start from one time until another, where nothing but windows, blackouts and the deadline holds them,
// and at most limit of them.
func (t *Schedule) Starts(from, until time.Time, deadline time.Duration, limit int) (starts []time.Time) {
	if t.invalid != "" {
		return nil
	}
	for at := from; len(starts) < limit; {
		if at = t.nextStart(at, at, deadline); at.IsZero() || at.After(until) {
			break
		}
		starts = append(starts, at)
	}
	return starts
}

// nextStart returns when the first run that is due after a time may start: not before from, within the starting
// deadline, and when windows and blackouts allow it; zero for never.
func (t *Schedule) nextStart(after, from time.Time, deadline time.Duration) time.Time {
	s := t.nextDue(after)
	for range maxLookahead {
		if s.due.IsZero() {
			break
		}
		begin := s.due
		if from.After(begin) {
			begin = from
		}
		open := t.calendar.NextOpen(begin)
		if open.IsZero() {
			break
		}
		if open.Before(s.due.Add(deadline)) {
			return open.UTC()
		}
		// No run that is due earlier than this can wait for it. Jitter moves by less than a run.
		skip := s.due
		if early := t.last(open.Add(-deadline)); early.After(s.at) {
			if early = t.last(early.Add(-time.Nanosecond)); early.After(skip) {
				skip = early
			}
		}
		s = t.nextDue(skip)
	}
	return time.Time{}
}
