// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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

// macros are the names that may be given in the place of five fields.
var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// parseFields reads the five fields of crontab(5), or a macro. There are no seconds, and there is no
// @every, whose phase would depend on when the process started.
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

// parse returns the values of a field, one bit for each, and whether a bare star is among its items.
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

// span reads a star, a value or a range. A value with a step behind it begins a range to the end.
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

// value reads a number or a name, and says whether the field takes it.
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
