// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestWhatFires(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(b *suite)
		want []string
	}{
		"a change":                      {func(b *suite) { b.change("new") }, []string{"config"}},
		"two triggers, in their order":  {func(b *suite) { b.workload(0).Signals[1].Fingerprint = "tuesday"; b.change("new") }, []string{"config", "tick"}},
		"a new source":                  {func(b *suite) { b.workload(0).Signals[0].Source = "Secret/other" }, nil},
		"a new workload of that name":   {func(b *suite) { b.change("new"); b.workload(0).UID = "other" }, nil},
		"a trigger that the spec lacks": {func(b *suite) { b.change("new"); b.p.Spec.Triggers = b.p.Spec.Triggers[1:] }, nil},
		"an unknown source":             {func(b *suite) { b.change("new"); b.workload(0).Signals[0].Unknown = "Forbidden" }, nil},
		"a level":                       {func(b *suite) { b.workload(0).Signals[2].Firing = true }, []string{"probe"}},
		"the annotation":                {func(b *suite) { b.requestRestart(0) }, []string{"RestartNow"}},
		"the annotation on a workload that is new": {func(b *suite) {
			b.requestRestart(0)
			b.p.Status.HandledRestartNow, b.workload(0).UID = "token", "other"
		}, nil},
		"a silent appearance": {func(b *suite) {
			b.target(0).Baselines[0].Fingerprint = ""
			b.workload(0).Signals[0].SilentCreate = true
		}, nil},
		"an appearance":                   {func(b *suite) { b.change("old"); b.target(0).Baselines[0].Fingerprint = "" }, []string{"config"}},
		"a silent end":                    {func(b *suite) { b.change(""); b.workload(0).Signals[0].SilentDelete = true }, nil},
		"an end":                          {func(b *suite) { b.change("") }, []string{"config"}},
		"a change where an end is silent": {func(b *suite) { b.change("new"); b.workload(0).Signals[0].SilentDelete = true }, []string{"config"}},
		"a moot change":                   {func(b *suite) { b.change("new"); b.workload(0).Signals[0].Incomparable = true }, nil},
		"a run that is past its deadline": {func(b *suite) {
			b.workload(0).Signals[1].Fingerprint, b.workload(0).Signals[1].Deadline = "tuesday", b.o.Now
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.o.Others.Free = 0
			c.put(b)
			b.decide()
			var got []string
			if p := b.target(0).Pending; p != nil {
				got = p.Triggers
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATokenRestartsOnceEvenIfItComesBack(t *testing.T) {
	b := newSuite(t)
	b.requestRestart(0)
	b.record(b.decide(), Done)
	b.after(time.Second)
	b.after(time.Hour)
	if b.p.Status.HandledRestartNow != "token" {
		t.Errorf("token acted on: %q", b.p.Status.HandledRestartNow)
	}
	b.workload(0).Signals[3].Fingerprint = ""
	b.after(time.Hour)
	b.workload(0).Signals[3].Fingerprint = "token"
	if b.after(time.Hour); b.target(0).Pending != nil || len(b.p.Status.History) != 1 {
		t.Errorf("%+v", b.p.Status)
	}
}

func TestAChangeBackNeedsNoRestart(t *testing.T) {
	b := newSuite(t)
	b.change("new")
	b.decide()
	b.change("old")
	b.decide()
	if b.target(0).Pending != nil {
		t.Errorf("%+v", b.target(0).Pending)
	}
	if diff := cmp.Diff([]string{"TriggerFired", "TriggerRecovered"}, b.messages); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestNewerPodsSupersedeARestart(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(b *suite)
		want bool
	}{
		"all pods are newer":    {func(*suite) {}, true},
		"one is of that moment": {func(b *suite) { b.workload(0).Pods[0].Created = noon() }, false},
		"one is of that moment, and a later version": {func(b *suite) {
			pod := &b.workload(0).Pods[0]
			pod.Created, pod.Version, b.workload(0).Signals[0].Version = noon(), "1002", "999"
		}, true},
		"one is of that moment, and an earlier version": {func(b *suite) {
			pod := &b.workload(0).Pods[0]
			pod.Created, pod.Version, b.workload(0).Signals[0].Version = noon(), "999", "1002"
		}, false},
		"one is older, and of a later version": {func(b *suite) {
			pod := &b.workload(0).Pods[0]
			pod.Created, pod.Version, b.workload(0).Signals[0].Version = noon().Add(-time.Second), "1002", "999"
		}, false},
		"an old one goes":                      {func(b *suite) { b.workload(0).Pods[0].Created, b.workload(0).Pods[0].Terminating = noon(), true }, true},
		"a probe fires too":                    {func(b *suite) { b.workload(0).Signals[2].Firing = true }, false},
		"a run is due too":                     {func(b *suite) { b.workload(0).Signals[1].Fingerprint = "tuesday" }, false},
		"there is no pod":                      {func(b *suite) { b.workload(0).Pods = nil }, false},
		"the workload rolls out by hand alone": {func(b *suite) { b.workload(0).Obstacle = autorebootv1.ReasonOnDelete }, true},
		"a partition keeps the pods, which are new": {func(b *suite) {
			b.workload(0).Obstacle, b.workload(0).Kept, b.workload(0).Pods = autorebootv1.ReasonPartitioned, b.workload(0).Pods, nil
		}, true},
		"a partition keeps the pods, and one of them is old": {func(b *suite) {
			b.workload(0).Obstacle, b.workload(0).Kept, b.workload(0).Pods = autorebootv1.ReasonPartitioned, b.workload(0).Pods, nil
			b.workload(0).Kept[0].Created = noon()
		}, false},
		"the policy is suspended": {func(b *suite) { on := true; b.p.Spec.Suspend = &on }, true},
		"the policy was halted by another target": {func(b *suite) {
			b.p.Status.Halt = &autorebootv1.Halt{Halt: common.Halt{Reason: autorebootv1.ReasonLimitReached, StartTime: *stampOf(noon()), Generation: 1}, Target: common.WorkloadReference{Kind: "Deployment", Name: "other"}}
		}, true},
		"no window is open": {func(b *suite) { b.o.Calendar.Window = false }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.change("new")
			b.decide()
			for i := range b.workload(0).Pods {
				b.workload(0).Pods[i].Created = noon().Add(time.Second)
			}
			c.put(b)
			b.after(time.Minute)
			superseded := slices.Contains(b.messages, "RestartSuperseded")
			if superseded != c.want || (c.want && (b.target(0).Pending != nil || b.target(0).Baselines[0].Fingerprint != "new" || b.p.Status.History[0].Reason != autorebootv1.ReasonNewerPods)) {
				t.Errorf("superseded %t: %+v", superseded, b.p.Status)
			}
		})
	}
}

func TestARolloutByOthersSupersedesARetryOnceAllIsNewAndWhole(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(w *Workload, failed time.Time)
		want bool
	}{
		"all pods are newer":            {func(*Workload, time.Time) {}, true},
		"one was there as it failed":    {func(w *Workload, failed time.Time) { w.Pods[0].Created = failed }, false},
		"the workload is not whole yet": {func(w *Workload, _ time.Time) { w.Complete, w.Available = false, false }, false},
		"a probe fires":                 {func(w *Workload, _ time.Time) { w.Signals[2].Firing = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.start()
			b.timeOut()
			failed := b.o.Now.Truncate(time.Second)
			w := b.workload(0)
			w.Complete, w.Available = true, true
			for i := range w.Pods {
				w.Pods[i].Created = failed.Add(10 * time.Second)
			}
			c.put(w, failed)
			d := b.after(time.Minute)
			superseded := slices.Contains(b.messages, "RestartSuperseded")
			if superseded != c.want || (b.target(0).Pending == nil) != c.want {
				t.Errorf("superseded %t: %+v", superseded, b.target(0))
			}
			if d = b.after(time.Hour); c.want && (len(d.Actions) > 0 || b.target(0).Attempts != 0) {
				t.Errorf("%+v, then %+v", b.target(0), d.Actions)
			}
		})
	}
}

func TestARunThatCouldNotStartInTimeIsRecorded(t *testing.T) {
	b := newSuite(t)
	b.o.Calendar.Window, b.o.Calendar.NextOpen = false, time.Time{}
	b.workload(0).Signals[1].Fingerprint, b.workload(0).Signals[1].Deadline = "tuesday", noon().Add(time.Hour)
	b.decide()
	if d := b.after(time.Minute); !d.RequeueAt.Equal(noon().Add(time.Hour)) {
		t.Errorf("again at %s", d.RequeueAt)
	}
	b.after(time.Hour)
	if h := b.p.Status.History; len(h) != 1 || h[0].Result != autorebootv1.ResultSuperseded || h[0].Reason != autorebootv1.ReasonStartingDeadline || b.target(0).Pending != nil {
		t.Errorf("%+v", b.p.Status)
	}
	if b.after(time.Hour); len(b.p.Status.History) != 1 {
		t.Error("recorded twice")
	}
}

func TestBaselinesOutliveWhatCannotBeSeen(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(w *Workload)
		want []string
	}{
		"the source is unknown":      {func(w *Workload) { w.Signals[0].Unknown = "Forbidden" }, []string{"config Secret/creds", "tick "}},
		"the whole trigger is":       {func(w *Workload) { w.Signals[0].Source, w.Signals[0].Unknown = "", "Timeout" }, []string{"config Secret/creds", "tick "}},
		"nothing is said of it":      {func(w *Workload) { w.Signals = w.Signals[1:] }, []string{"config Secret/creds", "tick "}},
		"another one took its place": {func(w *Workload) { w.Signals[0].Source = "Secret/next" }, []string{"config Secret/next", "tick "}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			c.put(b.workload(0))
			b.decide()
			var got []string
			for _, baseline := range b.target(0).Baselines {
				got = append(got, baseline.Trigger+" "+baseline.Source)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s := b.p.Status.Triggers[0]; name == "the source is unknown" && (s.State != autorebootv1.TriggerUnknown || s.Reason != "Forbidden") {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestTheStatusStaysWithinItsBounds(t *testing.T) {
	b := newSuite(t)
	w := b.workload(0)
	w.Signals = nil
	for i := range 200 {
		w.Signals = append(w.Signals, Signal{Trigger: "config", Source: fmt.Sprintf("Secret/%03d", i), Fingerprint: "f"})
	}
	for i := range 200 {
		other := *w
		other.Name, other.UID = fmt.Sprint(i), ""
		b.o.Workloads = append(b.o.Workloads, other)
	}
	b.decide()
	if n, m := len(b.p.Status.Targets), len(b.target(0).Baselines); n != 100 || m != 64 {
		t.Errorf("%d targets, %d baselines", n, m)
	}
	if s := b.p.Status.Triggers[0]; s.State != autorebootv1.TriggerUnknown || s.Reason != "TooManySources" {
		t.Errorf("%+v", s)
	}
}

func TestARehearsalPlansNothing(t *testing.T) {
	b := newSuite(t)
	on := true
	b.p.Spec.DryRun = &on
	b.change("new")
	b.decide()
	for range 3 {
		if d := b.after(time.Minute); len(d.Actions) > 0 || len(d.Status.InFlight) > 0 {
			t.Fatalf("%+v", d)
		}
	}
	if diff := cmp.Diff([]string{"TriggerFired", "RestartPlanned"}, b.messages); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestDecidingChangesNeitherThePolicyNorASettledStatus(t *testing.T) {
	b := newSuite(t, "a", "b", "c")
	b.change("new")
	b.decide()
	b.after(time.Minute)
	before, _ := json.Marshal(b.p)
	d := Decide(b.p, b.o)
	after, _ := json.Marshal(b.p)
	if string(before) != string(after) {
		t.Error("the policy was changed")
	}
	b.advance(time.Second / 2)
	if diff := cmp.Diff(d.Status, Decide(b.p, b.o).Status); diff != "" {
		t.Errorf("the status changes by itself:\n%s", diff)
	}
}

func TestAWindowThatClosesHoldsTheRest(t *testing.T) {
	b := newSuite(t, "a", "b")
	b.change("new")
	b.decide()
	b.record(b.after(time.Minute), Done)
	b.o.Calendar.Window, b.o.Calendar.NextOpen = false, b.o.Now.Add(10*time.Hour)
	b.after(time.Second)
	b.after(2 * time.Minute)
	if h := b.p.Status.History; len(h) != 1 || h[0].Result != autorebootv1.ResultSucceeded {
		t.Errorf("what had begun was not verified: %+v", h)
	}
	if p := b.target(1).Pending; p == nil || p.Reason != autorebootv1.ReasonOutsideWindow {
		t.Errorf("%+v", p)
	}
}

func TestOneThatIsNotSelectedAnyMoreIsOnlySeenThrough(t *testing.T) {
	b := newSuite(t)
	b.start()
	b.workload(0).Unselected = true
	b.change("newest")
	b.after(time.Second)
	if len(b.p.Status.Targets) != 1 || len(b.p.Status.InFlight) != 1 {
		t.Fatalf("%+v", b.p.Status)
	}
	b.after(time.Hour)
	if s := b.p.Status; len(s.Targets) != 0 || len(s.InFlight) != 0 || s.History[0].Result != autorebootv1.ResultSucceeded {
		t.Errorf("%+v", s)
	}
}

// A kubelet may serve the previous content of an immutable source that is recreated. The event says so.
func TestAnImmutableSourceThatIsCreatedAgainIsTold(t *testing.T) {
	b := newSuite(t)
	b.change("new")
	b.workload(0).Signals[0].Immutable = true
	d := b.decide()
	if len(d.Messages) != 1 || !strings.Contains(d.Messages[0].Text, "(Secret/creds is immutable and was recreated: a node may give its previous content to new pods.") {
		t.Errorf("%+v", d.Messages)
	}
}
