// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
)

const (
	shortest = time.Minute
	longest  = 168 * time.Hour
)

// window is open from each firing of its schedule on, for its length in elapsed time.
type window struct {
	*Schedule
	length time.Duration

	// daily: on a clock that does not change, it stays open from the first firing of a day to the
	// last. always: and from one day to the next. Both only save steps.
	daily, always bool
}

func newWindow(w common.Window) (*window, error) {
	s, err := Parse(w.Schedule, ptr.Deref(w.TimeZone, ""))
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", w.Schedule, err)
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
	return &window{Schedule: s, length: length, daily: daily, always: always}, nil
}

// openUntil returns an instant until which the window is sure to be open from t on, or t itself where
// it is closed at t.
func (w *window) openUntil(t, horizon time.Time) time.Time {
	fired := w.Latest(t.Add(-w.length), t)
	if fired.IsZero() {
		return t
	}
	if unbroken := w.unbroken(fired, horizon); unbroken.After(fired) {
		fired = w.Latest(fired.Add(-time.Second), unbroken)
	}
	return fired.Add(w.length)
}

// isOpen tells whether the window is open at t.
func (w *window) isOpen(t time.Time) bool { return !w.Latest(t.Add(-w.length), t).IsZero() }

// next returns the first moment after t at which the window begins.
func (w *window) next(t time.Time) time.Time { return w.Next(t) }

// unbroken returns an instant up to which the firings from this one on follow each other within
// the window's length. It does not look beyond the next change of the clock.
func (w *window) unbroken(fired, horizon time.Time) time.Time {
	if !w.daily {
		return fired
	}
	offset, until := w.clock.offset(fired.Unix())
	local := fired.Unix() + offset
	if !w.fields.matches(minuteOf(local)) {
		return fired // the clock has skipped the time it fired for, perhaps a whole day of them
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

// interval is a stretch of time, or one that repeats.
type interval interface {
	// openUntil returns an instant until which it is sure to be open from t on, or t itself where it is
	// closed at t. It need not look beyond the horizon.
	openUntil(t, horizon time.Time) time.Time
	// isOpen tells whether it is open at t.
	isOpen(t time.Time) bool
	// next returns the first moment after t at which it begins; zero if there is none.
	next(t time.Time) time.Time
}

// namedInterval is a piece that people know by a name, which may be empty.
type namedInterval struct {
	interval
	name string
}

// intervals is open wherever one of its pieces is.
type intervals []namedInterval

// at tells whether the union is open at t, and when that next changes; zero if not within the
// horizon.
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

// isOpen tells whether the union is open at t.
func (u intervals) isOpen(t time.Time) bool {
	for i := range u {
		if u[i].isOpen(t) {
			return true
		}
	}
	return false
}

// next returns the first moment after t at which a piece begins.
func (u intervals) next(t time.Time) time.Time {
	var first time.Time
	for i := range u {
		first = earlier(first, u[i].next(t))
	}
	return first
}

// maxLookups is how many looks at a window one question may take. Windows that take turns every
// minute could otherwise keep a reconciler busy for seconds. A window alone takes one look a day,
// and another day by day in its way makes that three, so both stay below it for five years.
const maxLookups = 8192

// search is one look ahead: how far, and how many looks it may still take.
type search struct {
	horizon time.Time
	lookups int
}

func newSearch(t time.Time) search {
	return search{horizon: t.UTC().AddDate(horizonYears, 0, 0), lookups: maxLookups}
}

// end returns the first instant from t on at which the union is closed. If that is beyond the
// horizon or the looks are spent, it returns how far the union is known to be open, and false.
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
