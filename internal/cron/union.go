// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

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
