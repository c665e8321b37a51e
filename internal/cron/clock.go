// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"math"
	"time"
)

const (
	secondsPerMinute = 60
	secondsPerDay    = 24 * 60 * secondsPerMinute

	// maxOffset is more than any zone has ever been away from UTC, in seconds. Manila was 15h56m away
	// before 1844.
	maxOffset = 16 * 60 * 60
)

// clock is the local clock of a zone. Local seconds are Unix seconds plus the offset.
type clock struct{ location *time.Location }

// offset returns how far the clock is from UTC at an instant, and until when.
func (c clock) offset(at int64) (offset, until int64) {
	t := time.Unix(at, 0).In(c.location)
	_, seconds := t.Zone()
	_, end := t.ZoneBounds()
	switch {
	case end.IsZero():
		return int64(seconds), at + 2*horizonYears*366*secondsPerDay
	case end.After(t):
		return int64(seconds), end.Unix()
	default:
		// Where the zone goes on by a rule, package time takes every year for 365 days. On the last
		// day of a leap year, it reports bounds that end before that day.
		return int64(seconds), (floor(at, secondsPerDay) + 1) * secondsPerDay
	}
}

// shown returns the latest local second that the clock has shown up to an instant. While an hour is
// repeated, that is not the one it shows.
func (c clock) shown(at int64) int64 {
	from := at - 2*maxOffset // nothing shown before then can be later than what is shown at the instant
	for latest := int64(math.MinInt64); ; {
		offset, until := c.offset(from)
		latest = max(latest, min(until-1, at)+offset)
		if until > at {
			return latest
		}
		from = until
	}
}

// first returns the instant of a local minute: the first at which the clock shows that minute or a later
// one.
func (c clock) first(minute int64) time.Time {
	local := minute * secondsPerMinute
	from := local - maxOffset // no clock shows the minute before then
	for {
		offset, until := c.offset(from)
		if local-offset < until {
			return time.Unix(max(from, local-offset), 0).In(c.location)
		}
		from = until
	}
}

// minuteOf returns the local minute that holds a local second.
func minuteOf(local int64) int64 { return floor(local, secondsPerMinute) }

// floor divides and rounds down, before 1970 too.
func floor(n, by int64) int64 {
	quotient := n / by
	if n%by < 0 {
		quotient--
	}
	return quotient
}
