// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
)

// calendarZones stand for all: what zones do is compared schedule by schedule.
var calendarZones = []string{
	"Europe/Zurich", "America/Santiago", "Africa/Casablanca", "Australia/Lord_Howe", "Asia/Beirut", "Europe/Dublin",
}

const calendarsPerZone = 4

// lengths are shorter and longer than an hour, a day and the gaps between firings.
var lengths = []string{"1m", "7m", "30m", "59m", "1h", "90m", "6h", "24h", "25h", "72h", "168h"}

func TestCalendarsSayWhatTheSlowModelSays(t *testing.T) {
	t.Logf("seed %d", seed)
	utc := wallOf(t, "UTC", 2020, 2029)
	for i, zone := range calendarZones {
		r := rand.New(rand.NewPCG(seed, uint64(2000+i)))
		walls := []wall{utc, wallOf(t, zone, 2020, 2029)}
		for range calendarsPerZone {
			compareCalendar(t, walls, r)
		}
	}
}

func compareCalendar(t *testing.T, walls []wall, r *rand.Rand) {
	t.Helper()
	m := &days{first: walls[0].first, state: make([]inside, len(walls[0].local))}
	spec := common.Calendar{Windows: m.generate(t, inWindow, r.IntN(4), walls, r), Blackouts: m.generate(t, inBlackout, r.IntN(3), walls, r)}
	m.read(len(spec.Windows) == 0)
	c, err := NewCalendar(&spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range m.instants(r) {
		i := int(at.Sub(m.first) / time.Minute)
		got, inside, until := c.At(at), m.state[i], m.after(m.changes, i, at)
		if got.Window != (inside&inWindow != 0) || (got.Blackout != "") != (inside&inBlackout != 0) || !got.Until.Equal(until) {
			t.Fatalf("seed %d: %+v\nAt(%s) = %+v\nmodel %d until %s", seed, spec, at, got, inside, until)
		}
		open, free := at, at
		if m.state[i] != inWindow {
			open = m.after(m.opens, i, at)
		}
		if m.state[i]&inBlackout != 0 {
			free = m.after(m.ends, i, at)
		}
		if got := c.NextOpen(at); !got.Equal(open) {
			t.Fatalf("seed %d: windows %v blackouts %v\nNextOpen(%s) = %s, model %s", seed, spec.Windows, spec.Blackouts, at, got, open)
		}
		if got := c.NextOutsideBlackout(at); !got.Equal(free) {
			t.Fatalf("seed %d: blackouts %v\nNextOutsideBlackout(%s) = %s, model %s", seed, spec.Blackouts, at, got, free)
		}
	}
}

type inside uint8

const (
	inWindow inside = 1 << iota
	inBlackout
)

// days is the slow model of a calendar: what every single minute is inside of.
type days struct {
	first time.Time
	state []inside

	changes, opens, ends []int // of anything, to open, and of blackouts
}

// generate makes windows up and marks the minutes that they cover.
func (d *days) generate(t *testing.T, mark inside, count int, walls []wall, r *rand.Rand) []common.Window {
	t.Helper()
	var windows []common.Window
	for len(windows) < count {
		w, e, length := walls[r.IntN(len(walls))], generateExpression(r), lengths[r.IntN(len(lengths))]
		fired := w.firings(e)
		if len(fired) == 0 {
			continue
		}
		span, err := time.ParseDuration(length)
		if err != nil {
			t.Fatal(err)
		}
		for n, from := range fired {
			to := int(from) + int(span/time.Minute)
			if mark == inBlackout {
				to = w.lastBefore(int(from), to)
			}
			if n+1 < len(fired) {
				to = min(to, int(fired[n+1]))
			}
			for i := int(from); i < min(to, len(d.state)); i++ {
				d.state[i] |= mark
			}
		}
		windows = append(windows, in(common.TimeZone(w.name), common.Cron(e.text), common.Duration(length)))
	}
	return windows
}

// lastBefore returns when the clock has shown for the last time what it shows before the end of a blackout of these minutes.
func (w wall) lastBefore(from, to int) int {
	const margin = 3 * 60
	last := min(to+margin, len(w.local))
	if n := sort.SearchInts(w.changes, from+1); n == len(w.changes) || w.changes[n] >= last {
		return to
	}
	end := w.local[from] + int32(to-from)
	for i := to; i < last; i++ {
		if w.local[i] < end {
			to = i + 1
		}
	}
	return to
}

// read lists the changes of what generate has marked.
func (d *days) read(always bool) {
	for i := range d.state {
		if always {
			d.state[i] |= inWindow
		}
		if i == 0 || d.state[i] == d.state[i-1] {
			continue
		}
		d.changes = append(d.changes, i)
		if d.state[i] == inWindow {
			d.opens = append(d.opens, i)
		}
		if d.state[i-1]&^d.state[i]&inBlackout != 0 {
			d.ends = append(d.ends, i)
		}
	}
}

// after returns the first of a list after a minute, if it is within five years.
func (d *days) after(list []int, minute int, at time.Time) time.Time {
	n := sort.SearchInts(list, minute+1)
	if n == len(list) {
		return time.Time{}
	}
	found := d.first.Add(time.Duration(list[n]) * time.Minute)
	if found.After(at.AddDate(5, 0, 0)) {
		return time.Time{}
	}
	return found
}

// instants returns when to ask: anywhere in the years that the model covers, and close to
// changes. The first days are left out, since the model does not know what had begun before them.
func (d *days) instants(r *rand.Rand) []time.Time {
	from, to := 8*24*60, int(d.first.AddDate(5, 0, 0).Sub(d.first)/time.Minute)-1
	var at []time.Time
	for range 300 {
		at = append(at, d.first.Add(time.Duration(from+r.IntN(to-from))*time.Minute+time.Duration(r.Int64N(int64(time.Minute)))))
	}
	for range 100 {
		if len(d.changes) == 0 {
			break
		}
		if i := d.changes[r.IntN(len(d.changes))] - r.IntN(2); i >= from && i < to {
			at = append(at, d.first.Add(time.Duration(i)*time.Minute))
		}
	}
	return at
}
