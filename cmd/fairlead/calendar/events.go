// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/controllers/chaospod/chaos"
	"github.com/fairlead-dev/fairlead/internal/cron"
	chaosrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// The types of an Event.
const (
	// Window is open, and Blackout holds, for one object.
	Window   = "Window"
	Blackout = "Blackout"
	// Freeze is a blackout of the whole cluster.
	Freeze = "Freeze"
	// Restart is one by a Schedule trigger, and Run one of a ChaosPod.
	Restart = "Restart"
	Run     = "Run"
)

// Event is one span of time, or one moment.
type Event struct {
	Type string `json:"type"`
	inspect.Key
	// Title is the name of the window, the blackout or the trigger. It is empty for a Run.
	Title string      `json:"title,omitempty"`
	Start metav1.Time `json:"start"`
	// End is exclusive, and absent for a moment.
	End *metav1.Time `json:"end,omitempty"`
	// Note is why nothing comes of it, such as that the object is suspended.
	Note string `json:"note,omitempty"`
	// lasts means that it began before all that was looked at.
	lasts bool
}

// Calendar is what is to come.
type Calendar struct {
	Events []Event          `json:"events"`
	Notes  []string         `json:"notes,omitempty"`
	Unread []inspect.Unread `json:"unread,omitempty"`
}

const (
	// maxOfOne bounds the events of one window, trigger or ChaosPod, and maxEvents those of all.
	maxOfOne  = 1_000
	maxEvents = 20_000
	// frequent is the time between starts below which several are one event, and several is how many.
	frequent = time.Hour
	several  = 4
	// longest is more than a window or a blackout that repeats is open.
	longest = 8 * 24 * time.Hour
)

// Of returns what is to come of what was read, from one time until another.
func Of(s *inspect.Snapshot, freeze inspect.Freeze, from, until time.Time) *Calendar {
	b := &builder{from: from, until: until, freeze: freeze.Calendar}
	for i := range freeze.Blackouts {
		b.addFreeze(&freeze.Blackouts[i])
	}
	for _, object := range s.Objects {
		switch o := object.(type) {
		case *autorebootv1.RebootPolicy:
			b.addPolicy(o)
		case *chaosv1.ChaosPod:
			b.addChaosPod(o)
		}
	}
	slices.SortStableFunc(b.events, func(x, y Event) int {
		return cmp.Or(x.Start.Compare(y.Start.Time), cmp.Compare(x.Type, y.Type), cmp.Compare(x.String(), y.String()),
			cmp.Compare(x.Title, y.Title))
	})
	c := &Calendar{Events: b.events, Unread: s.Unread}
	if left := len(b.events) - maxEvents; left > 0 {
		c.Events = b.events[:maxEvents]
		b.isCut = true
	}
	if b.isCut {
		c.Notes = append(c.Notes, "There is more than is listed: choose a namespace, or fewer days.")
	}
	if c.Events == nil {
		c.Events = []Event{}
	}
	return c
}

// builder gathers events.
type builder struct {
	from, until time.Time
	freeze      *cron.Calendar
	events      []Event
	isCut       bool
}

// add adds an event that is not over before the calendar begins.
func (b *builder) add(e Event) {
	if e.End != nil && !e.End.After(b.from) || e.Start.After(b.until) {
		return
	}
	b.events = append(b.events, e)
}

// spans adds an event for each span in which is holds.
func (b *builder) spans(e Event, c *cron.Calendar, is func(cron.Moment) bool) {
	first := b.from.Add(-longest).UTC().Truncate(24 * time.Hour)
	at, began := first, time.Time{}
	for range maxOfOne {
		holds := is(c.At(at))
		switch {
		case holds && began.IsZero():
			began = at
		case !holds && !began.IsZero():
			b.addSpan(e, began, at, first)
			began = time.Time{}
		}
		if at = c.At(at).Until; at.IsZero() || at.After(b.until) {
			if !began.IsZero() {
				b.addSpan(e, began, cmp.Or(at, b.until), first)
			}
			return
		}
	}
	b.isCut = true
}

// addSpan adds a span of an event; first is where the search began.
func (b *builder) addSpan(e Event, start, end, first time.Time) {
	until := metav1.NewTime(end.UTC())
	e.Start, e.End, e.lasts = metav1.NewTime(start.UTC()), &until, start.Equal(first)
	b.add(e)
}

func (b *builder) addFreeze(f *cron.Blackout) {
	e := Event{Type: Freeze, Key: inspect.Key{Kind: "Cluster"}, Title: f.Name}
	if f.Start != nil && f.End != nil {
		e.Start, e.End = *f.Start, f.End
		b.add(e)
		return
	}
	one, err := cron.NewBlackouts([]cron.Blackout{*f})
	if err != nil {
		return
	}
	b.spans(e, one, func(m cron.Moment) bool { return m.Blackout != "" })
}

// addCalendar adds the windows and blackouts of an object.
func (b *builder) addCalendar(key inspect.Key, c *common.Calendar, note string) {
	for i := range c.Windows {
		b.addSpans(Event{Type: Window, Key: key, Title: c.Windows[i].Name, Note: note}, &common.Calendar{Windows: c.Windows[i : i+1]},
			func(m cron.Moment) bool { return m.Window })
	}
	for i := range c.Blackouts {
		b.addSpans(Event{Type: Blackout, Key: key, Title: c.Blackouts[i].Name}, &common.Calendar{Blackouts: c.Blackouts[i : i+1]},
			func(m cron.Moment) bool { return m.Blackout != "" })
	}
}

func (b *builder) addSpans(e Event, of *common.Calendar, is func(cron.Moment) bool) {
	one, err := cron.NewCalendar(of)
	if err != nil { // the status of the object says it
		return
	}
	b.spans(e, one, is)
}

func (b *builder) addPolicy(stored *autorebootv1.RebootPolicy) {
	policy := stored.DeepCopy()
	rules.Default(policy)
	key, note := inspect.KeyOf(stored), ""
	switch {
	case *policy.Spec.Suspend:
		note = "the policy is suspended"
	case policy.Status.Halt != nil:
		note = "the policy has halted"
	case *policy.Spec.DryRun:
		note = "a dry run"
	}
	b.addCalendar(key, &policy.Spec.Calendar, note)
	windows, err := cron.NewCalendar(&policy.Spec.Calendar)
	if err != nil {
		return
	}
	windows = windows.And(b.freeze)
	for i := range policy.Spec.Triggers {
		t := &policy.Spec.Triggers[i]
		if t.Schedule == nil {
			continue
		}
		if parsed, err := cron.Parse(t.Schedule.Cron, t.Schedule.TimeZone); err == nil {
			b.addRestarts(Event{Type: Restart, Key: key, Title: t.Name, Note: note}, parsed, windows, t.Schedule.StartingDeadline.Or(0))
		}
	}
}

// addRestarts adds those of a schedule, each when windows and blackouts allow it. Those that come due meanwhile are one.
func (b *builder) addRestarts(e Event, schedule *cron.Schedule, windows *cron.Calendar, deadline time.Duration) {
	at, last, all := b.from, time.Time{}, []time.Time{}
	defer func() { b.addStarts(e, all) }()
	for range maxOfOne {
		if at = schedule.Next(at); at.IsZero() || at.After(b.until) {
			return
		}
		starts := windows.NextOpen(at)
		isLate := deadline > 0 && !starts.Before(at.Add(deadline))
		if starts.IsZero() || isLate || starts.Equal(last) {
			continue
		}
		last, all = starts, append(all, starts)
	}
	b.isCut = true
}

// addStarts adds an event for each start. Several that follow on each other are one, with a note of how many they are.
func (b *builder) addStarts(e Event, starts []time.Time) {
	for len(starts) > 0 {
		n := 1
		for n < len(starts) && starts[n].Sub(starts[n-1]) < frequent {
			n++
		}
		one := e
		if n >= several {
			end := metav1.NewTime(starts[n-1].UTC())
			one.End, one.Note = &end, strings.TrimPrefix(fmt.Sprintf("%s, %d times", e.Note, n), ", ")
		} else {
			n = 1
		}
		one.Start = metav1.NewTime(starts[0].UTC())
		b.add(one)
		starts = starts[n:]
	}
}

func (b *builder) addChaosPod(stored *chaosv1.ChaosPod) {
	pod := stored.DeepCopy()
	chaosrules.Default(pod)
	e := Event{Type: Run, Key: inspect.KeyOf(stored)}
	switch {
	case ptr.Deref(pod.Spec.Suspend, false):
		e.Note = "the ChaosPod is suspended"
	case pod.Status.Halt != nil:
		e.Note = "the ChaosPod has halted"
	case ptr.Deref(pod.Spec.DryRun, true):
		e.Note = "a dry run"
	}
	b.addCalendar(e.Key, &pod.Spec.Calendar, e.Note)
	starts := chaos.ScheduleOf(pod).With(b.freeze).Starts(b.from, b.until, pod.Spec.Schedule.StartingDeadline.Or(0), maxOfOne)
	b.isCut = b.isCut || len(starts) == maxOfOne
	b.addStarts(e, starts)
}
