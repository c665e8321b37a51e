// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// field is one of the five, and how its values may be spelled.
type field struct {
	low, high int
	names     string // three letters each, from low on
}

var (
	minuteField  = field{low: 0, high: 59}
	hourField    = field{low: 0, high: 23}
	dayField     = field{low: 1, high: 31}
	monthField   = field{low: 1, high: 12, names: "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"}
	weekdayField = field{low: 0, high: 6, names: "sunmontuewedthufrisat"}
)

// generateExpression writes an expression that fires seldom or often, and says what it means.
func generateExpression(r *rand.Rand) *expression {
	if r.IntN(12) == 0 {
		return descriptor(r)
	}
	e := &expression{day: -1}
	var texts [5]string
	var dayStar, weekdayStar bool
	texts[0], e.minutes, _ = minuteField.generate(r, 8)
	texts[1], e.hours, _ = hourField.generate(r, 5)
	texts[2], e.days, dayStar = dayField.generate(r, 2)
	texts[3], e.months, _ = monthField.generate(r, 2)
	texts[4], e.weekdays, weekdayStar = weekdayField.generate(r, 2)
	e.eitherDay = !dayStar && !weekdayStar
	e.text = strings.Join(texts[:], " ")
	return e
}

// generate writes a list of values, ranges and steps, or a star in one of so many cases.
func (f field) generate(r *rand.Rand, oneIn int) (text string, set [60]bool, star bool) {
	if r.IntN(oneIn) == 0 {
		return f.item(r, 0)
	}
	var items []string
	for range 1 + r.IntN(3) {
		item, more, bare := f.item(r, 1+r.IntN(6))
		items = append(items, item)
		star = star || bare
		for i := range set {
			set[i] = set[i] || more[i]
		}
	}
	return strings.Join(items, ","), set, star
}

func (f field) item(r *rand.Rand, kind int) (text string, set [60]bool, star bool) {
	low := f.low + r.IntN(f.high-f.low+1)
	high := low + r.IntN(f.high-low+1)
	step := 1 + r.IntN(f.high-f.low+2)
	switch kind {
	case 0:
		text, low, high, step, star = "*", f.low, f.high, 1, true
		if f == dayField && r.IntN(2) == 0 {
			text = "?"
		}
	case 1:
		text, low, high = fmt.Sprintf("*/%d", step), f.low, f.high
		star = step == 1
	case 2:
		text = fmt.Sprintf("%s-%s", f.spell(r, low), f.spell(r, high))
		step = 1
	case 3:
		text = fmt.Sprintf("%s-%s/%d", f.spell(r, low), f.spell(r, high), step)
	case 4:
		text, high = fmt.Sprintf("%d/%d", low, step), f.high
	default:
		text, high, step = f.spell(r, low), low, 1
	}
	for value := low; value <= high; value += step {
		set[value] = true
	}
	return text, set, star
}

func (f field) spell(r *rand.Rand, value int) string {
	if f.names == "" || r.IntN(2) == 0 {
		return fmt.Sprint(value)
	}
	at := 3 * (value - f.low)
	return f.names[at : at+3]
}

func descriptor(r *rand.Rand) *expression {
	e := &expression{day: -1}
	every := func(set *[60]bool) {
		for i := range set {
			set[i] = true
		}
	}
	for _, set := range []*[60]bool{&e.hours, &e.days, &e.months, &e.weekdays} {
		every(set)
	}
	midnight := [60]bool{0: true}
	e.minutes = midnight
	texts := []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}
	e.text = texts[r.IntN(len(texts))]
	if e.text != "@hourly" {
		e.hours = midnight
	}
	switch e.text {
	case "@weekly":
		e.weekdays = midnight
	case "@monthly":
		e.days = [60]bool{1: true}
	case "@yearly", "@annually":
		e.days, e.months = [60]bool{1: true}, [60]bool{1: true}
	}
	return e
}
