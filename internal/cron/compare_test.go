// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
)

// seed makes every run the same. Change it to look elsewhere.
const seed = 20261121

const expressionsPerWall = 4

// tenYears are zones that change their clocks between 2020 and 2029, and some that do not.
var tenYears = []string{
	"UTC", "Asia/Kolkata", "Europe/Zurich", "Europe/Dublin", "Europe/Volgograd", "Atlantic/Azores",
	"America/New_York", "America/Havana", "America/Santiago", "America/Asuncion", "America/Nuuk",
	"America/Scoresbysund", "America/Whitehorse", "America/Dawson", "Africa/Casablanca", "Africa/Cairo",
	"Africa/Juba", "Asia/Beirut", "Asia/Gaza", "Asia/Amman", "Asia/Tehran", "Asia/Almaty", "Asia/Jerusalem",
	"Australia/Lord_Howe", "Australia/Adelaide", "Pacific/Chatham", "Pacific/Apia", "Pacific/Norfolk",
	"Pacific/Fiji", "Antarctica/Troll", "Antarctica/Casey",
}

// history are years in which a clock did something odd.
var history = []struct {
	zone     string
	from, to int
}{
	{"Pacific/Apia", 2010, 2012},        // no 30 December 2011
	{"Pacific/Kwajalein", 1992, 1994},   // no 21 August 1993
	{"America/Sao_Paulo", 2015, 2019},   // changes at midnight
	{"Asia/Pyongyang", 2014, 2018},      // half an hour back, and ahead again
	{"America/Caracas", 2006, 2017},     // half an hour, at 3 and at 2:30
	{"Asia/Kathmandu", 1985, 1987},      // a quarter of an hour
	{"Australia/Lord_Howe", 1980, 1986}, // from an hour to half an hour
	{"Antarctica/Macquarie", 2009, 2012},
	{"Africa/Windhoek", 2015, 2018}, // winter time is the exception
}

func TestSchedulesFireWhenTheSlowModelDoes(t *testing.T) {
	t.Logf("seed %d", seed)
	for i, zone := range tenYears {
		w := wallOf(t, zone, 2020, 2029)
		compareSchedules(t, w, rand.New(rand.NewPCG(seed, uint64(i))))
	}
	for i, h := range history {
		w := wallOf(t, h.zone, h.from, h.to)
		compareSchedules(t, w, rand.New(rand.NewPCG(seed, uint64(1000+i))))
	}
}

func compareSchedules(t *testing.T, w wall, r *rand.Rand) {
	t.Helper()
	for range expressionsPerWall {
		e := generateExpression(r)
		if !compareSchedule(t, w, e, r) {
			t.Fatalf("seed %d: %q in %s differs from the model", seed, e.text, w.name)
		}
	}
}

func compareSchedule(t *testing.T, w wall, e *expression, r *rand.Rand) bool {
	t.Helper()
	model := timeline{w, w.firings(e)}
	s, err := Parse(common.Cron(e.text), common.TimeZone(w.name))
	if len(model.fired) == 0 && errors.Is(err, ErrNeverFires) {
		return true
	}
	if err != nil {
		t.Errorf("Parse(%q): %v", e.text, err)
		return false
	}
	ok := true
	for _, change := range w.changes {
		for minute := change - 30*60; minute < change+30*60; minute += 1 + r.IntN(60) {
			ok = ok && model.agrees(t, s, w.at(minute), r)
		}
	}
	for range 2000 {
		at := w.at(r.IntN(len(w.local))).Add(time.Duration(r.Int64N(int64(time.Minute))))
		ok = ok && model.agrees(t, s, at, r)
	}
	if len(model.fired) < 5000 {
		ok = ok && model.walks(t, s)
	}
	return ok
}

// timeline is the model's prediction for one schedule.
type timeline struct {
	wall  wall
	fired []int32
}

// agrees compares Next, Latest and Key around one instant.
func (m timeline) agrees(t *testing.T, s *Schedule, at time.Time, r *rand.Rand) bool {
	t.Helper()
	if at.Before(m.wall.first) {
		return true
	}
	n := sort.Search(len(m.fired), func(i int) bool { return m.wall.at(int(m.fired[i])).After(at) })
	if n < len(m.fired) {
		i := int(m.fired[n])
		if want, got := m.wall.at(i), s.Next(at); !got.Equal(want) {
			t.Errorf("Next(%s) = %s, model %s", stamp(s, at), stamp(s, got), stamp(s, want))
			return false
		}
		want := time.Unix(int64(m.wall.local[i])*60, 0).UTC().Format("2006-01-02T15:04")
		if got := s.Key(m.wall.at(i)); got != want {
			t.Errorf("Key = %s, model %s", got, want)
			return false
		}
	}
	after := at.Add(-time.Duration(r.Int64N(int64(40*24*time.Hour)) >> r.IntN(30)))
	if after.Before(m.wall.first) {
		return true
	}
	var want time.Time
	if n > 0 && m.wall.at(int(m.fired[n-1])).After(after) {
		want = m.wall.at(int(m.fired[n-1]))
	}
	if got := s.Latest(after, at); !got.Equal(want) {
		t.Errorf("Latest(%s, %s) = %s, model %s", stamp(s, after), stamp(s, at), stamp(s, got), stamp(s, want))
		return false
	}
	return true
}

// walks compares every firing there is.
func (m timeline) walks(t *testing.T, s *Schedule) bool {
	t.Helper()
	at := m.wall.first.Add(-time.Nanosecond)
	for _, i := range m.fired {
		got := s.Next(at)
		if want := m.wall.at(int(i)); !got.Equal(want) {
			t.Errorf("Next(%s) = %s, model %s", stamp(s, at), stamp(s, got), stamp(s, want))
			return false
		}
		at = got
	}
	return true
}

func stamp(s *Schedule, t time.Time) string {
	return t.In(s.clock.location).Format(time.RFC3339Nano)
}
