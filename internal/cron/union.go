// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// piece is a stretch of time, or one that repeats.
type piece interface {
	// reach returns an instant until which it is sure to be open from t on, or t itself where it is
	// closed at t. It need not look beyond the horizon.
	reach(t, horizon time.Time) time.Time
	// covers tells whether it is open at t.
	covers(t time.Time) bool
	// next returns the first moment after t at which it begins; zero if there is none.
	next(t time.Time) time.Time
}

// named is a piece that people know by a name, which may be empty.
type named struct {
	piece
	name string
}

// union is open wherever one of its pieces is.
type union []named

// at tells whether the union is open at t, and when that next changes; zero if not within the
// horizon.
func (u union) at(t time.Time) (open bool, until time.Time) {
	ahead := lookAhead(t)
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

// covers tells whether the union is open at t.
func (u union) covers(t time.Time) bool {
	for i := range u {
		if u[i].covers(t) {
			return true
		}
	}
	return false
}

// next returns the first moment after t at which a piece begins.
func (u union) next(t time.Time) time.Time {
	var first time.Time
	for i := range u {
		first = earlier(first, u[i].next(t))
	}
	return first
}

// patience is how many looks at a window one question may take. Windows that take turns every
// minute could otherwise keep a reconciler busy for seconds. A window alone takes one look a day,
// and another day by day in its way makes that three, so both stay below it for five years.
const patience = 8192

// search is one look ahead: how far, and how many looks it may still take.
type search struct {
	horizon time.Time
	looks   int
}

func lookAhead(t time.Time) search {
	return search{horizon: t.UTC().AddDate(horizonYears, 0, 0), looks: patience}
}

// end returns the first instant from t on at which the union is closed. If that is beyond the
// horizon or the looks are spent, it returns how far the union is known to be open, and false.
func (s *search) end(u union, t time.Time) (end time.Time, closed bool) {
	for s.looks > 0 && !t.After(s.horizon) {
		s.looks -= len(u)
		reached := t
		for i := range u {
			reached = u[i].reach(reached, s.horizon)
		}
		if !reached.After(t) {
			return t, true
		}
		t = reached
	}
	return t, false
}
