// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/cron"
)

// NewWarnings returns the warnings of an object that its old one, which may be nil, did not have: a warning
// that is repeated at every write is not read.
func NewWarnings[T any](obj, old *T, warnings func(*T) []string) []string {
	known := map[string]bool{}
	if old != nil {
		for _, text := range warnings(old) {
			known[text] = true
		}
	}
	var fresh []string
	for _, text := range warnings(obj) {
		if !known[text] {
			fresh = append(fresh, text)
		}
	}
	return fresh
}

// anyTime is where a search for an open window begins. Windows and blackouts come again and again, so that any time
// does, and the same spec has the same warnings at all times.
var anyTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// NeverOpen warns of blackouts that cover all windows. what is that which never begins.
func NeverOpen(c *common.Calendar, what string) []string {
	calendar := calendarOf(c)
	if calendar == nil || !calendar.NextOpen(anyTime).IsZero() {
		return nil
	}
	return []string{"spec.blackouts: they cover all of spec.windows: " + what + "; use spec.suspend to pause"}
}

// calendarOf returns windows and blackouts, or nil where they are not valid: an error says so then.
func calendarOf(c *common.Calendar) *cron.Calendar {
	if len(c.Windows) > MaxItems || len(c.Blackouts) > MaxItems {
		return nil
	}
	calendar, err := cron.NewCalendar(c)
	if err != nil {
		return nil
	}
	return calendar
}

// NeverInTime warns of a cron expression of which ten runs in a row may not begin within their starting deadline, by
// windows and blackouts. The bound is for specs whose windows take long to search.
func NeverInTime(path string, expression common.Cron, zone common.TimeZone, deadline common.Duration, c *common.Calendar) []string {
	within, err := deadline.Parse()
	if err != nil {
		return nil
	}
	runs, err := cron.Parse(expression, zone)
	if err != nil {
		return nil
	}
	calendar := calendarOf(c)
	if calendar == nil {
		return nil
	}
	after := anyTime
	for range 10 {
		due := runs.Next(after)
		open := calendar.NextOpen(due)
		if due.IsZero() || open.IsZero() || open.Before(due.Add(within)) {
			return nil
		}
		after = open.Add(-within) // no earlier run can wait for it
	}
	return []string{fmt.Sprintf("%s: windows and blackouts forbid ten runs in a row, within a startingDeadline of %s", path, deadline)}
}

// CronSurprises warns of the cron expressions of a spec that match other times than they seem to: by steps that are longer than their
// range, and by a day of the month or of the week. Those beside windows and blackouts are given with their paths.
func CronSurprises(expressions map[string]common.Cron, c *common.Calendar) []string {
	var texts []string
	warn := func(path string, expression common.Cron) {
		if long := cron.LongSteps(expression); len(long) > 0 {
			texts = append(texts, fmt.Sprintf("%s: the step of %s is longer than its range, so that only the first value matches", path, strings.Join(long, ", ")))
		}
		if cron.MatchesEitherDay(expression) {
			texts = append(texts, fmt.Sprintf("%s: %q matches on these days of the month and also on these days of the week: in cron, one of both suffices. "+
				"No expression means such as the first Sunday of a month; restrict only one of the two fields", path, string(expression)))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(expressions)) {
		warn(path, expressions[path])
	}
	for i := range c.Windows {
		warn(fmt.Sprintf("spec.windows[%d].cron", i), c.Windows[i].Cron)
	}
	for i := range c.Blackouts {
		warn(fmt.Sprintf("spec.blackouts[%d].cron", i), c.Blackouts[i].Cron)
	}
	return texts
}
