// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must resolve in an image that ships no zone database

	"github.com/fairlead-dev/fairlead/api/common"
)

// ErrNeverFires marks a schedule without a single moment in five years, such as 30 February.
var ErrNeverFires = errors.New("fires at no time within five years")

// horizonYears is how far ahead a firing is searched. An expression has no year, and five years contain a
// leap day unless a century leaves one out.
const horizonYears = 5

// horizonStart begins the five years, one of them a leap year, in which a schedule must fire. An expression
// has no year, so that any such span decides for all.
var horizonStart = time.Date(2023, time.January, 1, 0, 0, 0, 0, time.UTC)

// Schedule is a cron expression bound to a time zone. It is immutable.
type Schedule struct {
	fields fields
	clock  clock
}

// Parse parses a five-field expression, or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly and
// @annually, in an IANA time zone; an empty zone means UTC. It refuses expressions with a zone of their own,
// and those that never fire.
func Parse(c common.Cron, zone common.TimeZone) (*Schedule, error) {
	expression := string(c)
	if strings.Contains(expression, "TZ=") {
		return nil, errors.New("carries a time zone: use timeZone")
	}
	location, err := Location(zone)
	if err != nil {
		return nil, err
	}
	parsed, err := parseFields(expression)
	if err != nil {
		return nil, err
	}
	s := &Schedule{fields: parsed, clock: clock{location}}
	if s.Next(horizonStart).IsZero() {
		return nil, ErrNeverFires
	}
	return s, nil
}

// Next returns the first time after t at which the schedule fires, in the schedule's zone, or the zero time
// where there is none within five years.
//
// A local time that the clock skips fires once, at the first instant after the gap, however many matching
// times were skipped. A local time that occurs twice fires the first time. That includes wildcards: an hourly
// schedule does not fire in the hour that the clock repeats.
func (s *Schedule) Next(t time.Time) time.Time {
	horizon := t.UTC().AddDate(horizonYears, 0, 0)
	minute, ok := s.fields.next(minuteOf(s.clock.shown(t.Unix())), minuteOf(horizon.Unix()+maxOffset))
	if !ok {
		return time.Time{}
	}
	fires := s.clock.first(minute)
	if fires.After(horizon) {
		return time.Time{}
	}
	return fires
}

// Latest returns the last time after the first argument and not after the second at which the schedule
// fired, in the schedule's zone, or the zero time where there is none. Its cost does not depend on how often
// the schedule fires.
func (s *Schedule) Latest(after, until time.Time) time.Time {
	minute, ok := s.fields.latest(minuteOf(s.clock.shown(until.Unix())), minuteOf(after.Unix()-maxOffset))
	if !ok {
		return time.Time{}
	}
	fired := s.clock.first(minute)
	if !fired.After(after) {
		return time.Time{}
	}
	return fired
}

// Key names the run that fired at that time by the local time, such as "2026-03-29T03:00". Later runs have
// greater names, so that no two are equal.
func (s *Schedule) Key(fired time.Time) string {
	return fired.In(s.clock.location).Format("2006-01-02T15:04")
}

// cronField is one of the five fields of crontab(5).
type cronField struct {
	name     string
	min, max int
	values   []string // names of values in lower case, from min on; none for most fields
	hint     string   // follows an error of this field
}

var cronFields = [5]cronField{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day-of-month", min: 1, max: 31, hint: "; the last day of a month cannot be named"},
	{name: "month", min: 1, max: 12, values: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day-of-week", max: 6, values: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, hint: "; Sunday is 0"},
}

// macros are the names that may replace the five fields.
var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// parseFields parses the five fields of crontab(5), or a macro. There are no seconds, and no @every, whose
// phase would depend on when the process started.
func parseFields(expression string) (fields, error) {
	if strings.HasPrefix(expression, "@every") {
		return fields{}, errors.New("@every is not a schedule: use an interval")
	}
	if strings.HasPrefix(expression, "@") {
		five, known := macros[expression]
		if !known {
			return fields{}, fmt.Errorf("there is no %.32s: use @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, or five fields", expression)
		}
		expression = five
	}
	texts := strings.Fields(expression)
	if len(texts) != len(cronFields) {
		return fields{}, fmt.Errorf("must have five fields, minute hour day-of-month month day-of-week, and has %d", len(texts))
	}
	var sets [5]uint64
	var stars [5]bool
	for i := range cronFields {
		var err error
		if sets[i], stars[i], err = cronFields[i].parse(texts[i]); err != nil {
			return fields{}, err
		}
	}
	return fields{sets[0], sets[1], sets[2], sets[3], sets[4], !stars[2] && !stars[4]}, nil
}

// parse returns the values of a field, one bit for each, and whether one of its items is a bare star.
func (c *cronField) parse(text string) (set uint64, star bool, err error) {
	for item := range strings.SplitSeq(text, ",") {
		span, every, stepped := strings.Cut(item, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(every); err != nil || step < 1 {
				return 0, false, fmt.Errorf("%s %q: a step is a number of 1 or more, as in */5", c.name, item)
			}
		}
		low, high, ok := c.span(span, stepped)
		if !ok {
			return 0, false, fmt.Errorf("%s %q: takes %s, *, lists, ranges and steps%s", c.name, item, c.takes(), c.hint)
		}
		if low > high {
			return 0, false, fmt.Errorf("%s %q: a range goes from the lower to the higher value", c.name, item)
		}
		star = star || step == 1 && (span == "*" || span == "?")
		for value := low; value <= high; value += step {
			set |= 1 << value
			if step > c.max {
				break // and no sum overflows
			}
		}
	}
	return set, star, nil
}

// MatchesEitherDay reports whether an expression restricts both the day of the month and the day of the week. Either then
// suffices: 0 2 1-7 * 0 matches the first seven days of a month and each Sunday. It is false for an expression that cannot be
// parsed.
func MatchesEitherDay(c common.Cron) bool {
	parsed, err := parseFields(string(c))
	return err == nil && parsed.eitherDay
}

// LongSteps returns the items of an expression whose step is longer than the range that it steps through, such as */61 of
// minutes: they match the first value of the range alone. It returns none of an expression that cannot be parsed.
func LongSteps(c common.Cron) []string {
	texts := strings.Fields(string(c))
	if len(texts) != len(cronFields) {
		return nil
	}
	var long []string
	for i := range cronFields {
		for item := range strings.SplitSeq(texts[i], ",") {
			span, every, stepped := strings.Cut(item, "/")
			low, high, ok := cronFields[i].span(span, stepped)
			if step, err := strconv.Atoi(every); stepped && ok && err == nil && step > high-low {
				long = append(long, item)
			}
		}
	}
	return long
}

// span parses a star, a value or a range. A value with a step begins a range to the end.
func (c *cronField) span(text string, stepped bool) (low, high int, ok bool) {
	if text == "*" || text == "?" {
		return c.min, c.max, true
	}
	from, to, ranged := strings.Cut(text, "-")
	low, ok = c.value(from)
	switch {
	case ranged:
		var last bool
		high, last = c.value(to)
		ok = ok && last
	case stepped:
		high = c.max
	default:
		high = low
	}
	return low, high, ok
}

// value parses a number or a name, and reports whether it is valid for the field.
func (c *cronField) value(text string) (value int, ok bool) {
	if i := slices.Index(c.values, strings.ToLower(text)); i >= 0 {
		return c.min + i, true
	}
	value, err := strconv.Atoi(text)
	return value, err == nil && value >= c.min && value <= c.max
}

func (c *cronField) takes() string {
	numbers := fmt.Sprintf("%d-%d", c.min, c.max)
	if len(c.values) > 0 {
		numbers += " or " + strings.ToUpper(c.values[0]+"-"+c.values[len(c.values)-1])
	}
	return numbers
}

// Location loads an IANA time zone; an empty name means UTC. "Local" is refused in any case: it
// would mean another zone in every pod.
func Location(zone common.TimeZone) (*time.Location, error) {
	if strings.EqualFold(string(zone), "local") {
		return nil, errors.New(`"Local" depends on where the process runs: use an IANA name such as Europe/Zurich`)
	}
	location, err := time.LoadLocation(string(zone))
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: use an IANA name such as Europe/Zurich", zone)
	}
	return location, nil
}
