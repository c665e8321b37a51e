// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Calendar is open inside any window and outside all blackouts. It is immutable. A nil Calendar is always
// open.
type Calendar struct{ windows, blackouts intervals }

// Moment is the state of a Calendar at an instant.
type Moment struct {
	// Window: inside a window, or there are none.
	Window bool

	// Blackout is the name of one that holds; empty where none does.
	Blackout string

	// Until is when Window or Blackout next changes, in the zone of the window or blackout that changes
	// it. It is zero where neither does within five years. Where thousands of windows follow each other
	// without a gap it may be earlier than the change.
	Until time.Time
}

// Open reports whether the Calendar is open: blackouts take precedence over windows.
func (m Moment) Open() bool { return m.Window && m.Blackout == "" }

// NewCalendar parses windows and blackouts. The error names the first invalid one: what it would have allowed is
// unknown, so the caller must do nothing then.
//
// Without windows the Calendar is open outside of blackouts. A window is open from the time its cron expression
// fires until its duration has elapsed. Windows that overlap or touch are one. A blackout also holds while the clock
// repeats an hour of it, until it has shown the blackout's end for the last time.
func NewCalendar(c *common.Calendar) (*Calendar, error) {
	windows, err := newIntervals("window", c.Windows, false)
	if err != nil {
		return nil, err
	}
	blackouts, err := newIntervals("blackout", c.Blackouts, true)
	if err != nil {
		return nil, err
	}
	return &Calendar{windows: windows, blackouts: blackouts}, nil
}

func newIntervals(kind string, windows []common.Window, repeats bool) (intervals, error) {
	u := make(intervals, 0, len(windows))
	for i := range windows {
		w, err := newWindow(&windows[i], repeats)
		if windows[i].Name == "" {
			err = errors.New("has no name")
		}
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", kind, windows[i].Name, err)
		}
		u = append(u, namedInterval{w, windows[i].Name})
	}
	return u, nil
}

// And returns a Calendar with the windows of this one, and the blackouts of both. Either may be nil.
func (c *Calendar) And(blackouts *Calendar) *Calendar {
	switch {
	case blackouts == nil || len(blackouts.blackouts) == 0:
		return c
	case c == nil:
		return &Calendar{blackouts: blackouts.blackouts}
	}
	return &Calendar{windows: c.windows, blackouts: slices.Concat(c.blackouts, blackouts.blackouts)}
}

// At returns the state of the Calendar at an instant.
func (c *Calendar) At(t time.Time) Moment {
	if c == nil {
		return Moment{Window: true}
	}
	inWindow, windowUntil := c.windows.at(t)
	_, blackoutUntil := c.blackouts.at(t)
	return Moment{
		Window:   inWindow || len(c.windows) == 0,
		Blackout: c.Blackout(t),
		Until:    earlier(windowUntil, blackoutUntil),
	}
}

// Window returns the name of a window that is open at t; empty where none is, and for the zero time.
func (c *Calendar) Window(t time.Time) string {
	if c == nil || t.IsZero() {
		return ""
	}
	return c.windows.open(t)
}

// Blackout returns the name of a blackout that holds at t; empty where none does.
func (c *Calendar) Blackout(t time.Time) string {
	if c == nil {
		return ""
	}
	return c.blackouts.open(t)
}

// NextOpen returns the first instant from t on at which the Calendar is open, which may be t. It returns the
// zero time where there is none within five years, or where thousands of windows precede it.
func (c *Calendar) NextOpen(t time.Time) time.Time {
	if c == nil {
		return t
	}
	ahead := newSearch(t)
	for {
		end, closed := ahead.end(c.blackouts, t)
		if !closed {
			return time.Time{}
		}
		if len(c.windows) == 0 || c.windows.open(end) != "" {
			return end
		}
		ahead.lookups -= len(c.windows)
		if t = c.windows.next(end); t.IsZero() {
			return time.Time{}
		}
	}
}

// NextOutsideBlackout returns the first instant from t on outside of all blackouts, which may be t, whether
// or not it is inside a window. It returns the zero time as NextOpen does.
func (c *Calendar) NextOutsideBlackout(t time.Time) time.Time {
	if c == nil {
		return t
	}
	ahead := newSearch(t)
	if end, closed := ahead.end(c.blackouts, t); closed {
		return end
	}
	return time.Time{}
}

// earlier returns the earlier of two times; a zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
