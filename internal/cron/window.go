// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
)

const (
	shortest = time.Minute
	longest  = 168 * time.Hour
)

// longestRepeat is more than any clock is ever set back, except by a change of the date line.
const longestRepeat = 3 * time.Hour

// window is open from each firing of its cron expression for its length in elapsed time.
type window struct {
	*Schedule
	length time.Duration

	// repeats has it stay open through local times that come twice, until the clock has shown its end for the last
	// time: what a blackout is to prevent must not happen in between.
	repeats bool

	// daily: without a clock change it is open from the first firing of a day to the last. always:
	// also from one day to the next. Both only save steps.
	daily, always bool
}

func newWindow(w *common.Window, repeats bool) (*window, error) {
	s, err := Parse(w.Cron, w.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("cron %q: %w", w.Cron, err)
	}
	length, err := w.Duration.Parse()
	if err != nil {
		return nil, fmt.Errorf("duration %q: write it as 30m or 6h", w.Duration)
	}
	if length < shortest || length > longest {
		return nil, fmt.Errorf("duration %q: must be between 1m and 168h", w.Duration)
	}
	within, overnight := s.fields.widestGaps()
	daily := time.Duration(within)*time.Minute <= length
	always := daily && s.fields.everyDay() && time.Duration(overnight)*time.Minute <= length
	return &window{Schedule: s, length: length, repeats: repeats, daily: daily, always: always}, nil
}

// openUntil returns an instant until which the window is open at least from t on, or t where it is closed.
func (w *window) openUntil(t, horizon time.Time) time.Time {
	fired := w.latest(t)
	if fired.IsZero() {
		return t
	}
	if unbroken := w.unbroken(fired, horizon); unbroken.After(fired) {
		fired = w.Latest(fired.Add(-time.Second), unbroken)
	}
	return w.end(fired)
}

// isOpen reports whether the window is open at t.
func (w *window) isOpen(t time.Time) bool { return !w.latest(t).IsZero() }

// latest returns the last firing after which the window is open at t; zero where it is closed.
func (w *window) latest(t time.Time) time.Time {
	if !w.repeats {
		return w.Latest(t.Add(-w.length), t)
	}
	if fired := w.Latest(t.Add(-w.length-longestRepeat), t); !fired.IsZero() && w.end(fired).After(t) {
		return fired
	}
	return time.Time{}
}

// end returns when the window closes that opened at a firing.
func (w *window) end(fired time.Time) time.Time {
	end := fired.Add(w.length)
	if !w.repeats {
		return end
	}
	offset, until := w.clock.offset(fired.Unix())
	for local := end.Unix() + offset; until <= end.Add(longestRepeat).Unix(); {
		changed := until
		offset, until = w.clock.offset(changed)
		if last := local - offset; last > changed && last > end.Unix() {
			end = time.Unix(last, 0).In(end.Location())
		}
	}
	return end
}

// next returns the first time after t at which the window begins.
func (w *window) next(t time.Time) time.Time { return w.Next(t) }

// unbroken returns an instant up to which the firings from this one on follow each other within the window's
// length. It does not look beyond the next clock change.
func (w *window) unbroken(fired, horizon time.Time) time.Time {
	if !w.daily {
		return fired
	}
	offset, until := w.clock.offset(fired.Unix())
	local := fired.Unix() + offset
	if !w.fields.matches(minuteOf(local)) {
		return fired // the clock has skipped the local time of this firing
	}
	if !w.always {
		until = min(until, (floor(local, secondsPerDay)+1)*secondsPerDay-offset)
	}
	return time.Unix(min(until-1, horizon.Unix()), 0)
}

// widestGaps returns the longest gap between matching minutes of one day, and the gap from the
// last of a day to the first of the next, in minutes.
func (f *fields) widestGaps() (within, overnight int64) {
	first, _ := f.fromMinute(0)
	minute := first
	for {
		next, ok := f.fromMinute(minute + 1)
		if !ok {
			return within, first + minutesPerDay - minute
		}
		within, minute = max(within, next-minute), next
	}
}

// interval is open once or repeatedly.
type interval interface {
	// openUntil returns an instant until which it is open at least from t on, or t where it is closed. It
	// need not search beyond the horizon.
	openUntil(t, horizon time.Time) time.Time
	// isOpen reports whether it is open at t.
	isOpen(t time.Time) bool
	// next returns the first time after t at which it begins; zero where there is none.
	next(t time.Time) time.Time
}

// namedInterval is an interval with a name.
type namedInterval struct {
	interval
	name string
}

// intervals are open wherever one of them is.
type intervals []namedInterval

// at reports whether any is open at t, and when that next changes; zero where not within the horizon.
func (u intervals) at(t time.Time) (open bool, until time.Time) {
	ahead := newSearch(t)
	end, closed := ahead.end(u, t)
	switch {
	case !end.After(t):
		return false, u.next(t)
	case !closed && end.After(ahead.horizon):
		return true, time.Time{}
	default:
		return true, end
	}
}

// open returns the name of one that is open at t; empty where none is.
func (u intervals) open(t time.Time) string {
	for i := range u {
		if u[i].isOpen(t) {
			return u[i].name
		}
	}
	return ""
}

// next returns the first time after t at which one begins.
func (u intervals) next(t time.Time) time.Time {
	var first time.Time
	for i := range u {
		first = earlier(first, u[i].next(t))
	}
	return first
}

// maxLookups bounds the windows that one call evaluates. Windows that alternate every minute could otherwise
// keep a reconciler busy for seconds. One window takes one lookup a day, and another one that interrupts it
// day by day makes that three, so both stay below it for five years.
const maxLookups = 8192

// search is how far to search, and how many lookups are left.
type search struct {
	horizon time.Time
	lookups int
}

func newSearch(t time.Time) search {
	return search{horizon: t.UTC().AddDate(horizonYears, 0, 0), lookups: maxLookups}
}

// end returns the first instant from t on at which all intervals are closed. Where that is beyond the
// horizon or no lookups are left, it returns until when they are known to be open, and false.
func (s *search) end(u intervals, t time.Time) (end time.Time, closed bool) {
	for s.lookups > 0 && !t.After(s.horizon) {
		s.lookups -= len(u)
		reached := t
		for i := range u {
			reached = u[i].openUntil(reached, s.horizon)
		}
		if !reached.After(t) {
			return t, true
		}
		t = reached
	}
	return t, false
}
