// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func timed(t *testing.T, s chaosv1.Schedule) *chaosv1.ChaosPod {
	t.Helper()
	p := &chaosv1.ChaosPod{}
	p.UID, p.CreationTimestamp, p.Spec.Schedule = "0123abcd", metav1.NewTime(moment(t, "2026-03-02T12:00:00Z")), s
	return p
}

func TestWhenRunsAreDue(t *testing.T) {
	at := func(text string) *metav1.Time { return ptr.To(metav1.NewTime(moment(t, text))) }
	for name, c := range map[string]struct {
		schedule chaosv1.Schedule
		after    string
		wants    []string
	}{
		"interval":       {chaosv1.Schedule{Interval: "90m"}, "2026-03-02T12:00:00Z", []string{"2026-03-02T13:30:00Z", "2026-03-02T15:00:00Z"}},
		"at":             {chaosv1.Schedule{At: at("2026-03-02T13:00:07Z")}, "2026-03-02T12:00:00Z", []string{"2026-03-02T13:00:07Z"}},
		"at has passed":  {chaosv1.Schedule{At: at("2026-03-02T13:00:07Z")}, "2026-03-02T13:00:07Z", nil},
		"at, interval":   {chaosv1.Schedule{At: at("2026-03-02T13:00:07Z"), Interval: "1h"}, "2026-03-02T12:00:00Z", []string{"2026-03-02T13:00:07Z", "2026-03-02T14:00:07Z"}},
		"at, long ago":   {chaosv1.Schedule{At: at("2026-01-01T00:00:00Z"), Interval: "15s"}, "2026-03-02T12:00:01Z", []string{"2026-03-02T12:00:15Z", "2026-03-02T12:00:30Z"}},
		"292 years":      {chaosv1.Schedule{Interval: "2562047h", JitterPercent: ptr.To[int32](50)}, "2026-03-02T12:00:00Z", nil},
		"at, cron":       {chaosv1.Schedule{At: at("2026-03-02T13:00:07Z"), Cron: "0 * * * *"}, "2026-03-02T12:00:00Z", []string{"2026-03-02T13:00:07Z", "2026-03-02T14:00:00Z"}},
		"cron in a zone": {chaosv1.Schedule{Cron: "30 9 * * 1-5", TimeZone: "Europe/Zurich"}, "2026-03-27T12:00:00Z", []string{"2026-03-30T07:30:00Z", "2026-03-31T07:30:00Z"}},
		// Zurich's clock goes from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
		"cron in a gap":    {chaosv1.Schedule{Cron: "30 2 * * *", TimeZone: "Europe/Zurich"}, "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		"cron in a repeat": {chaosv1.Schedule{Cron: "30 2 * * *", TimeZone: "Europe/Zurich"}, "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
	} {
		times := ScheduleOf(timed(t, c.schedule))
		after := moment(t, c.after)
		for _, want := range c.wants {
			s := times.nextDue(after)
			if got := s.due.UTC().Format(time.RFC3339); got != want {
				t.Errorf("%s: after %s comes %s, want %s", name, after, got, want)
			}
			if last := times.latestDue(s.due); !last.due.Equal(s.due) {
				t.Errorf("%s: at %s the latest is %s", name, s.due, last.due)
			}
			after = s.due
		}
		if times.interval > lookBack {
			if s := times.nextDue(after.AddDate(500, 0, 0)); !s.due.IsZero() {
				t.Errorf("%s: %s", name, s.due)
			}
		}
		if s := times.nextDue(after); times.once() && !s.due.IsZero() {
			t.Errorf("%s comes again at %s", name, s.due)
		}
	}
}

func TestJitterIsTheSameForEachLeaderAndKeepsTheOrder(t *testing.T) {
	for _, s := range []chaosv1.Schedule{
		{Interval: "15s", JitterPercent: ptr.To[int32](34)}, {Interval: "10s", JitterPercent: ptr.To[int32](50)},
		{Cron: "0,5 9,17 * * *", JitterPercent: ptr.To[int32](50), TimeZone: "Europe/Zurich"},
	} {
		p := timed(t, s)
		times, other := ScheduleOf(p), ScheduleOf(p)
		after, moved := p.CreationTimestamp.Time, 0
		for range 300 {
			next := times.nextDue(after)
			if again := other.nextDue(after); !again.due.Equal(next.due) || !next.due.After(after) {
				t.Fatalf("%+v: after %s: %s and %s", s, after, next.due, again.due)
			}
			// Whatever time within them it is, the same one is the latest.
			if got := times.latestDue(next.due.Add(500 * time.Millisecond)); !got.due.Equal(next.due) {
				t.Fatalf("%+v: at %s the latest is %s", s, next.due, got.due)
			}
			if !next.due.Equal(next.at) {
				moved++
			}
			if far := next.due.Sub(next.at).Abs(); s.Interval == "15s" && far > 5100*time.Millisecond {
				t.Errorf("moved by %s", far)
			}
			after = next.due
		}
		if moved < 200 {
			t.Errorf("%+v: %d of 300 moved", s, moved)
		}
	}
	p := timed(t, chaosv1.Schedule{Cron: "0 9 * * *", JitterPercent: ptr.To[int32](50)})
	p.Spec.Windows = []common.Window{{Name: "w", Cron: "0 9 * * *", Duration: "1h"}}
	times := ScheduleOf(p)
	for after := p.CreationTimestamp.Time; after.Before(p.CreationTimestamp.AddDate(0, 2, 0)); {
		s := times.nextDue(after)
		if s.due.Hour() != 9 {
			t.Errorf("jitter moves a run out of the window, to %s", s.due)
		}
		after = s.due
	}
}

func TestTheNextRunIsOneThatMayBegin(t *testing.T) {
	hourly := chaosv1.Schedule{Cron: "0 * * * *"}
	for name, c := range map[string]struct {
		schedule  chaosv1.Schedule
		windows   []common.Window
		blackouts []common.Window
		killed    int32
		wants     string
	}{
		"free":                         {hourly, nil, nil, 0, "2026-03-02T13:00:00Z"},
		"a window":                     {hourly, []common.Window{{Name: "w", Cron: "30 17 * * *", Duration: "2h"}}, nil, 0, "2026-03-02T18:00:00Z"},
		"a window within the deadline": {hourly, []common.Window{{Name: "w", Cron: "3 17 * * *", Duration: "2h"}}, nil, 0, "2026-03-02T17:03:00Z"},
		"a blackout":                   {hourly, nil, []common.Window{{Name: "w", Cron: "30 12 * * *", Duration: "100m"}}, 0, "2026-03-02T15:00:00Z"},
		"never":                        {chaosv1.Schedule{Cron: "0 12 * * *"}, []common.Window{{Name: "w", Cron: "0 15 * * *", Duration: "2h"}}, nil, 0, ""},
		"the day's limit":              {hourly, nil, nil, 8, "2026-03-03T00:00:00Z"},
		"an interval, and a window":    {chaosv1.Schedule{Interval: "15s"}, []common.Window{{Name: "w", Cron: "0 0 1 6 *", Duration: "1h"}}, nil, 0, "2026-06-01T00:00:00Z"},
	} {
		b := newSuite(t)
		b.edit(func(s *chaosv1.ChaosPodSpec) { s.Schedule, s.Windows, s.Blackouts = c.schedule, c.windows, c.blackouts })
		b.p.Status.KilledDay, b.p.Status.KilledToday = "2026-03-02", c.killed
		b.o.Now = b.o.Now.Add(time.Second)
		b.decide()
		got := ""
		if b.p.Status.NextRunTime != nil {
			got = b.p.Status.NextRunTime.UTC().Format(time.RFC3339)
		}
		if got != c.wants {
			t.Errorf("%s: next %q, want %q", name, got, c.wants)
			continue
		}
		if c.wants == "" {
			continue
		}
		// It is true: nothing begins before it, and something does then.
		next := moment(t, c.wants)
		b.o.Now = next.Add(-time.Second)
		if d := b.decide(); len(d.Actions) > 0 {
			t.Errorf("%s: a run begins before it is due", name)
		}
		b.o.Now = next
		if d := b.decide(); len(d.Actions) != 1 {
			t.Errorf("%s: no run begins when it is due: %+v", name, d.Status.Conditions)
		}
	}
}

func TestNothingIsMadeUp(t *testing.T) {
	for name, c := range map[string]struct {
		away time.Duration // of the operator, since a run was due
		dies int
	}{
		"a little": {4 * time.Minute, 1}, "beyond the deadline": {6 * time.Minute, 0}, "many runs": {24*time.Hour + 6*time.Minute, 0}, "many runs and a little": {24 * time.Hour, 1},
	} {
		b := newSuite(t)
		if d := b.after(10*time.Minute + c.away); len(d.Actions) != c.dies || len(b.p.Status.History) != 0 {
			t.Errorf("away for %s: %d die, %v", name, len(d.Actions), b.p.Status.History)
		}
	}
	// What was due before the operator first saw the object, or before the spec changed, is not begun.
	b := newSuite(t)
	b.p.Status = chaosv1.ChaosPodStatus{ObservedGeneration: -1}
	b.p.Annotations = map[string]string{chaosv1.RunNowAnnotation: "from a backup"}
	if d := b.after(11 * time.Minute); len(d.Actions) > 0 || b.p.Status.HandledRunNow != "from a backup" {
		t.Errorf("%+v", d.Status)
	}
	b = newSuite(t)
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.Suspend = ptr.To(true) })
	b.after(11 * time.Minute)
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.Suspend = ptr.To(false) })
	if d := b.after(time.Second); len(d.Actions) > 0 {
		t.Error("a run that was due while suspended is made up")
	}
}

func TestOneShot(t *testing.T) {
	b := newSuite(t)
	b.p.Status = chaosv1.ChaosPodStatus{}
	b.edit(func(s *chaosv1.ChaosPodSpec) {
		s.Schedule = chaosv1.Schedule{At: ptr.To(metav1.NewTime(b.o.Now.Add(-10 * time.Second)))}
	})
	d := b.after(time.Second)
	if len(d.Actions) != 1 {
		t.Fatalf("a time that has just passed is not begun: %+v", d.Status)
	}
	b.answer(d, Done)
	b.o.Owners[0] = b.owner("api", 5)
	b.remove(d.Actions[0].UID)
	b.after(time.Second)
	b.expectCondition(chaosv1.ConditionReady, "True/Completed")
	for _, jump := range []time.Duration{time.Hour, -2 * time.Hour, 2 * time.Hour} {
		if d := b.after(jump); len(d.Actions) > 0 {
			t.Errorf("it comes again after a jump of %s", jump)
		}
	}
}

func TestAClockThatJumps(t *testing.T) {
	b := newSuite(t)
	b.kill()
	b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod("new"))
	b.after(time.Second)
	// Forward by a day: the latest run that is due is within its deadline or not begun, and one at most.
	if d := b.after(24 * time.Hour); len(d.Actions) > 1 {
		t.Errorf("%+v", d.Actions)
	}
	b = newSuite(t)
	b.kill()
	b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod("new"))
	b.after(time.Second)
	// Back by half an hour: nothing at once, the run whose name is used does not come twice, and the
	// schedule goes on rather than wait for the clock.
	if d := b.after(-30 * time.Minute); len(d.Actions) > 0 {
		t.Error("something dies because the clock was set back")
	}
	begun := map[string]bool{}
	for range 40 {
		if d := b.after(time.Minute); len(d.Actions) > 0 {
			if begun[d.Actions[0].RunID] || d.Actions[0].RunID == "2026-03-02T12:10:00Z" {
				t.Errorf("%s comes twice", d.Actions[0].RunID)
			}
			begun[d.Actions[0].RunID] = true
			b.answer(d, Done)
			b.remove(d.Actions[0].UID)
			b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod("new"+d.Actions[0].RunID))
		}
	}
	if len(begun) == 0 {
		t.Error("after the clock was set back no run begins")
	}
	// Back during a verification: it ends in the time that it has, not when the clock gets there.
	b = newSuite(t)
	b.kill()
	b.after(-24 * time.Hour)
	b.after(10*time.Minute + time.Second)
	if run := b.last(); run.Result != chaosv1.ResultRecoveryFailed {
		t.Errorf("%+v", run)
	}
}

func TestRunNow(t *testing.T) {
	b := newSuite(t)
	b.p.Annotations = map[string]string{chaosv1.RunNowAnnotation: "1"}
	d := b.after(time.Minute)
	if len(d.Actions) != 1 || d.Status.HandledRunNow != "1" || d.Status.CurrentRun.ID != "2026-03-02T12:01:00Z-now" {
		t.Fatalf("%+v", d.Status)
	}
	b.answer(d, Done)
	b.remove(d.Actions[0].UID)
	b.o.Owners[0].Pods = append(b.o.Owners[0].Pods, b.pod("new"))
	b.after(time.Second)
	if d := b.after(time.Second); len(d.Actions) > 0 {
		t.Error("the same token asks twice")
	}
	b.p.Annotations[chaosv1.RunNowAnnotation] = "2"
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.Suspend = ptr.To(true) })
	if d := b.after(time.Second); len(d.Actions) > 0 || d.Status.HandledRunNow != "1" {
		t.Error("a token passes suspend")
	}
	delete(b.p.Annotations, chaosv1.RunNowAnnotation)
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.Suspend = nil })
	if d := b.after(time.Second); len(d.Actions) > 0 {
		t.Error("a token that was taken back asks")
	}
}

// canaried has the example of controller-runtime as v1 sees it.
func canaried(t *testing.T) *suite {
	b := newSuite(t)
	b.p.Spec = chaosv1.ChaosPodSpec{
		DryRun: ptr.To(false), Action: &chaosv1.Action{Type: ptr.To(chaosv1.ActionDelete)}, Target: chaosv1.Target{Template: templateOf("nginx")},
		Schedule: chaosv1.Schedule{At: ptr.To(metav1.NewTime(moment(t, "2026-01-01T00:00:00Z"))), Interval: "15s", JitterPercent: ptr.To[int32](34)},
	}
	b.p.Generation, b.o.Owners, b.o.Canary = 2, nil, &Canary{}
	return b
}

func TestACanaryIsMadeKilledAndMadeAgain(t *testing.T) {
	b := canaried(t)
	d := b.after(time.Second)
	if len(d.Actions) != 1 || d.Actions[0].Verb != CreateCanary || d.Actions[0].Hash != TemplateHash(b.p.Spec.Target.Template) {
		t.Fatalf("%+v", d.Actions)
	}
	deaths := 0
	made := func(n int) {
		pod := b.pod("api")
		pod.UID, pod.Created, pod.ReadySince = types.UID(rune('a'+n)), b.o.Now, b.o.Now
		b.o.Canary = &Canary{Pod: &pod, Hash: d.Actions[0].Hash}
	}
	made(0)
	for range 120 {
		next := b.after(time.Second)
		if len(next.Actions) == 0 {
			continue
		}
		switch a := next.Actions[0]; a.Verb {
		case Delete:
			if a.UID != b.o.Canary.Pod.UID {
				t.Fatalf("%+v", a)
			}
			deaths++
			b.answer(next, Done)
			b.o.Canary = &Canary{}
		case CreateCanary:
			made(deaths)
		default:
			t.Fatalf("%+v", a)
		}
	}
	if deaths < 6 || deaths > 12 || b.last().Result != chaosv1.ResultSurvived {
		t.Errorf("%d deaths in two minutes; %+v", deaths, b.last())
	}
}

func TestWhatIsDoneAboutACanary(t *testing.T) {
	hash := TemplateHash(templateOf("nginx"))
	for name, c := range map[string]struct {
		put   func(b *suite, pod *Pod, canary *Canary)
		wants Verb
		ready string
	}{
		"nothing":                 {func(*suite, *Pod, *Canary) {}, "", "True/Scheduled"},
		"a foreign pod":           {func(_ *suite, _ *Pod, c *Canary) { c.Foreign, c.Hash = true, "" }, "", "False/CanaryConflict"},
		"it is being deleted":     {func(_ *suite, p *Pod, c *Canary) { p.Terminating, c.Hash = true, "old" }, "", "True/Scheduled"},
		"another template":        {func(_ *suite, _ *Pod, c *Canary) { c.Hash = "old" }, DeleteCanary, "True/Scheduled"},
		"it has finished":         {func(_ *suite, _ *Pod, c *Canary) { c.Finished = true }, DeleteCanary, "True/Scheduled"},
		"it has finished at once": {func(b *suite, p *Pod, c *Canary) { c.Finished, p.Created = true, b.o.Now }, "", "True/Scheduled"},
		"it cannot be read":       {func(_ *suite, _ *Pod, c *Canary) { c.Unknown, c.Pod = "timed out", nil }, "", "Unknown/Unknown"},
		"there is none":           {func(_ *suite, _ *Pod, c *Canary) { c.Pod = nil }, CreateCanary, "True/Scheduled"},
		"none, and suspended": {func(b *suite, _ *Pod, c *Canary) {
			c.Pod = nil
			b.edit(func(s *chaosv1.ChaosPodSpec) { s.Suspend = ptr.To(true) })
		}, CreateCanary, "True/Scheduled"},
		"none, and barred": {func(b *suite, _ *Pod, c *Canary) { c.Pod, b.o.BlockedBy = nil, Obstacle{chaosv1.ReasonForbidden, "no"} }, "", "False/Forbidden"},
		"none, and deleted": {func(b *suite, _ *Pod, c *Canary) {
			c.Pod, b.p.DeletionTimestamp = nil, ptr.To(metav1.NewTime(b.o.Now))
		}, "", "True/Scheduled"},
	} {
		b := canaried(t)
		pod := b.pod("api")
		b.o.Canary = &Canary{Pod: &pod, Hash: hash}
		c.put(b, &pod, b.o.Canary)
		d := b.decide()
		got := Verb("")
		if len(d.Actions) > 0 {
			got = d.Actions[0].Verb
		}
		if got != c.wants || len(d.Actions) > 1 {
			t.Errorf("%s: %+v, want %q", name, d.Actions, c.wants)
		}
		b.expectCondition(chaosv1.ConditionReady, c.ready)
	}
}
