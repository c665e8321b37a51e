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

// NewWarnings returns the warnings of an object that its old object does not have; old may be nil. Users do not read
// warnings that repeat at every write.
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

// anyTime is the time at which a search for an open window begins. Windows and blackouts recur, so any time will do. A fixed time
// gives a spec the same warnings at all times.
var anyTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// NeverOpen warns of blackouts that cover all windows. what describes the consequence.
func NeverOpen(c *common.Calendar, what string) []string {
	calendar := calendarOf(c)
	if calendar == nil || !calendar.NextOpen(anyTime).IsZero() {
		return nil
	}
	return []string{"spec.blackouts: they cover all of spec.windows: " + what + "; use spec.suspend to pause"}
}

// calendarOf returns windows and blackouts; nil if they are invalid, which is an error elsewhere.
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

// NeverInTime warns of a cron expression if ten runs in a row could not begin within their starting deadline, by
// windows and blackouts. Ten bounds the search.
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
		after = open.Add(-within) // an earlier run cannot wait for this window
	}
	return []string{fmt.Sprintf("%s: windows and blackouts forbid ten runs in a row, within a startingDeadline of %s", path, deadline)}
}

// CronSurprises warns of cron expressions that match other times than they seem to. One cause is a step that is longer
// than its range, the other a day of the month combined with a day of the week. expressions are those outside of
// windows and blackouts, by path.
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
