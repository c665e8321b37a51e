// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
)

var benchNow = time.Date(2026, time.November, 21, 12, 34, 56, 0, time.UTC)

func in(zone common.TimeZone, cron common.Cron, duration common.Duration) common.Window {
	return common.Window{Name: "w", Cron: cron, Duration: duration, TimeZone: zone}
}

func BenchmarkSchedule(b *testing.B) {
	for _, expression := range []common.Cron{"* * * * *", "30 2 * * *", "0 3 * * 0", "0 0 29 2 *"} {
		s, err := Parse(expression, "Europe/Zurich")
		if err != nil {
			b.Fatal(err)
		}
		b.Run("Next "+string(expression), func(b *testing.B) {
			for b.Loop() {
				s.Next(benchNow)
			}
		})
		b.Run("Latest "+string(expression), func(b *testing.B) {
			for b.Loop() {
				s.Latest(benchNow.AddDate(-3, 0, 0), benchNow)
			}
		})
	}
}

// BenchmarkCalendar has what people write first, and then what costs most.
func BenchmarkCalendar(b *testing.B) {
	christmas := in("Europe/Zurich", "0 0 24 12 *", "72h")
	var shifts []common.Window
	for hour := range 16 {
		shifts = append(shifts, in("Europe/Zurich", common.Cron(fmt.Sprintf("15 %d * * 1-5", hour)), "61m"))
	}
	turns := func() []common.Window {
		var w []common.Window
		for range 8 {
			w = append(w, in("Europe/Zurich", "*/2 * * * *", "1m"), in("Europe/Zurich", "1-59/2 * * * *", "1m"))
		}
		return w
	}()
	for _, c := range []struct {
		name               string
		windows, blackouts []common.Window
	}{
		{"nights and Christmas", []common.Window{in("Europe/Zurich", "0 22 * * 1-5", "6h")}, []common.Window{christmas}},
		{"office hours", []common.Window{in("Europe/Zurich", "* 9-17 * * 1-5", "1m")}, []common.Window{christmas}},
		{"sixteen windows", shifts, []common.Window{christmas}},
		{"without end", []common.Window{in("UTC", "* * * * *", "1m")}, nil},
		{"weekdays and weekends", []common.Window{in("UTC", "0 0 * * 1-5", "24h"), in("UTC", "0 0 * * 0,6", "24h")}, nil},
		{"blacked out each time", []common.Window{in("UTC", "0 1 * * *", "1h")}, []common.Window{in("UTC", "0 0 * * *", "2h")}},
		{"taking turns", turns, turns},
	} {
		calendar, err := NewCalendar(&common.Calendar{Windows: c.windows, Blackouts: c.blackouts})
		if err != nil {
			b.Fatal(err)
		}
		b.Run("At "+c.name, func(b *testing.B) {
			for b.Loop() {
				calendar.At(benchNow)
			}
		})
		b.Run("NextOpen "+c.name, func(b *testing.B) {
			for b.Loop() {
				calendar.NextOpen(benchNow)
			}
		})
		b.Run("New "+c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := NewCalendar(&common.Calendar{Windows: c.windows, Blackouts: c.blackouts}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
