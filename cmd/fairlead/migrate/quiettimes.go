// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
)

// list splits the value of a flag at its commas.
func (c *chaos) list(name string) (all []string) {
	for part := range strings.SplitSeq(c.text(name), ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// calendar sets windows and blackouts for the times in which chaoskube kills nothing.
func (c *chaos) calendar() {
	zone := common.TimeZone(c.text("timezone"))
	switch zone {
	case "UTC":
		zone = ""
	case "Local":
		c.say(Differs, "timezone", "Local is the time zone of chaoskube's own container, which is UTC unless its image was changed: UTC is used")
		zone = ""
	}
	c.weekdays(zone)
	for i, part := range c.list("excluded-times-of-day") {
		from, to, _ := strings.Cut(part, "-")
		begin, err := time.Parse("15:04", strings.TrimSpace(from))
		if err != nil {
			c.say(Refused, "excluded-times-of-day", "%.40q is no span such as 22:00-08:00", part)
			continue
		}
		end, err := time.Parse("15:04", strings.TrimSpace(to))
		if err != nil {
			c.say(Refused, "excluded-times-of-day", "%.40q is no span such as 22:00-08:00", part)
			continue
		}
		span := end.Sub(begin)
		if span == 0 {
			c.say(Differs, "excluded-times-of-day", "%q is a span of no time, and was left out", part)
			continue
		}
		if span < 0 {
			span += 24 * time.Hour
		}
		c.blackout(fmt.Sprintf("time-of-day-%d", i+1), fmt.Sprintf("%d %d * * *", begin.Minute(), begin.Hour()), span, zone)
	}
	days := map[time.Month][]string{}
	for _, part := range c.list("excluded-days-of-year") {
		day, err := time.Parse("Jan_2", part)
		if err != nil {
			day, err = time.Parse("Jan2", part)
		}
		if err != nil {
			c.say(Refused, "excluded-days-of-year", "%.40q is no day such as Apr1", part)
			continue
		}
		if text := strconv.Itoa(day.Day()); !slices.Contains(days[day.Month()], text) {
			days[day.Month()] = append(days[day.Month()], text)
		}
	}
	for _, month := range slices.Sorted(maps.Keys(days)) {
		cron := fmt.Sprintf("0 0 %s %d *", strings.Join(days[month], ","), month)
		c.blackout("days-of-"+strings.ToLower(month.String()), cron, 24*time.Hour, zone)
	}
}

// weekdays adds windows on the weekdays that are not excluded. Other names are reported, and ignored as by chaoskube.
func (c *chaos) weekdays(zone common.TimeZone) {
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	var open []string
	excluded := c.list("excluded-weekdays")
	for i, name := range names {
		if !slices.ContainsFunc(excluded, func(e string) bool { return strings.EqualFold(e, name) }) {
			open = append(open, strconv.Itoa(i))
		}
	}
	for _, e := range excluded {
		if !slices.Contains(names, strings.ToLower(e)) {
			c.say(Differs, "excluded-weekdays", "%.40q is no weekday such as Sat, and chaoskube ignores it too", e)
		}
	}
	switch len(open) {
	case 7:
	case 0:
		suspend := true
		c.spec.Suspend = &suspend
		c.say(Differs, "excluded-weekdays", "excludes all days: the ChaosPod is suspended")
	default:
		c.spec.Windows = append(c.spec.Windows, common.Window{
			Name: "weekdays", Cron: common.Cron("0 0 * * " + strings.Join(open, ",")), Duration: "24h", TimeZone: zone,
		})
	}
}

func (c *chaos) blackout(name, cron string, span time.Duration, zone common.TimeZone) {
	w := common.Window{Name: name, Cron: common.Cron(cron), Duration: common.DurationOf(span), TimeZone: zone}
	c.spec.Blackouts = append(c.spec.Blackouts, w)
}
