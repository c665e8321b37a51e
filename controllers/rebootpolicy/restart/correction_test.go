// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// failedSuite has a restart of its first workload that has failed, with so many retries; all workloads are whole again.
func failedSuite(t *testing.T, retries int32, names ...string) *suite {
	t.Helper()
	b := newSuite(t, names...)
	b.p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: &retries}
	b.start()
	b.timeOut()
	b.workload(0).Complete, b.workload(0).Available = true, true
	if len(b.p.Status.History) != 1 || b.target(0).Attempts != 1 {
		t.Fatalf("%+v", b.p.Status)
	}
	b.messages = nil
	return b
}

const correctedFor = "for new content of Secret/creds; the failed restart was for the previous content"

func TestNewContentIsHeldByNoFailure(t *testing.T) {
	for name, retries := range map[string]int32{"a halt": 0, "a backoff": 3} {
		t.Run(name, func(t *testing.T) {
			b := failedSuite(t, retries, "a", "b")
			b.advance(time.Minute)
			b.change("good")
			d := b.decide()
			b.expectPending(d, 0, autorebootv1.ReasonDebouncing, 15*time.Second)
			if b.p.Status.Halt != nil || len(d.Messages) == 0 || !strings.Contains(d.Messages[0].Text, correctedFor) {
				t.Errorf("halt %+v, told %+v", b.p.Status.Halt, d.Messages)
			}
			if d = b.after(15 * time.Second); len(d.Actions) != 1 || d.Actions[0].Workload.Name != "a" || b.target(0).Attempts != 0 {
				t.Fatalf("%+v: %s", d.Actions, d.PendingMessage)
			}
			if p := b.target(1).Pending; p.Reason != autorebootv1.ReasonBackoff {
				t.Errorf("the other waits for %s", p.Reason)
			}
			b.record(d, Done)
			b.after(time.Second)
			d = b.after(2 * time.Minute)
			if h := b.p.Status.History[0]; h.Result != autorebootv1.ResultSucceeded || h.Message != correctedFor || len(d.Actions) != 1 || d.Actions[0].Workload.Name != "b" {
				t.Errorf("%+v, then %+v", h, d.Actions)
			}
		})
	}
}

func TestWhatComesBackToTheContentThatFailedIsHeldAgain(t *testing.T) {
	b := failedSuite(t, 3)
	failed := b.workload(0).Signals[0].Fingerprint
	b.advance(time.Minute)
	b.change("good")
	if d := b.decide(); !strings.HasSuffix(d.PendingMessage, "; it is "+correctedFor) {
		t.Error(d.PendingMessage)
	}
	b.change(failed)
	b.decide()
	b.after(20 * time.Second)
	if p := b.target(0).Pending; p == nil || p.Reason != autorebootv1.ReasonBackoff || p.CorrectedTime != nil || b.target(0).Attempts != 1 {
		t.Errorf("%+v", b.target(0))
	}
}

// A stream of changes puts the restart off for no longer than maxDelay.
func TestTheQuietPeriodOfACorrectionEnds(t *testing.T) {
	b := failedSuite(t, 0)
	began := b.o.Now
	for i := 0; b.p.Status.InFlight == nil && i < 60; i++ {
		b.advance(10 * time.Second)
		b.change("good " + b.o.Now.String())
		b.decide()
	}
	if took := b.o.Now.Sub(began); took < 5*time.Minute || took > 6*time.Minute {
		t.Errorf("it took %s", took)
	}
}

func TestALimitIsEndedByNoContent(t *testing.T) {
	b := failedSuite(t, 3)
	b.p.Spec.Limit = &autorebootv1.Limit{MaxRestarts: 1, Within: "24h"}
	b.workload(0).Signals[0].Writer = "refresher"
	b.change("good")
	if d := b.after(time.Minute); b.p.Status.Halt == nil || !strings.Contains(d.Messages[len(d.Messages)-1].Text, `Secret/creds, which field manager "refresher" wrote last`) {
		t.Fatalf("%+v, %+v", b.p.Status.Halt, d.Messages)
	}
	b.change("better")
	if b.after(time.Minute); b.p.Status.Halt == nil {
		t.Error("the halt has ended")
	}
}

func TestCooldownHoldsWhatComesBack(t *testing.T) {
	for name, test := range map[string]struct {
		contents []string
		reason   string
	}{
		"new":                 {[]string{"one", "two"}, ""},
		"back":                {[]string{"one", "old"}, autorebootv1.ReasonCooldown},
		"back after a change": {[]string{"one", "two", "one"}, autorebootv1.ReasonCooldown},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			for i, content := range test.contents {
				b.change(content)
				b.decide()
				d := b.after(16 * time.Second)
				if i == len(test.contents)-1 {
					if p := b.target(0).Pending; (p == nil) != (test.reason == "") || p != nil && p.Reason != test.reason {
						t.Errorf("it waits for %+v", p)
					}
					return
				}
				b.record(d, Done)
				b.after(time.Second)
				b.after(2 * time.Minute)
			}
		})
	}
}

func TestARestartThatStandsStillEndsOnceItsContentChanges(t *testing.T) {
	b := newSuite(t)
	b.start()
	w := b.workload(0)
	w.Complete, w.Available = false, false
	b.after(30 * time.Second)
	b.change("good")
	if b.after(29 * time.Second); len(b.p.Status.InFlight) != 1 {
		t.Fatalf("%+v", b.p.Status.History)
	}
	b.after(time.Second)
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonContentChanged || b.p.Status.Halt != nil {
		t.Fatalf("%+v", b.p.Status)
	}
	if d := b.after(15 * time.Second); len(d.Actions) != 1 || b.target(0).Attempts != 0 {
		t.Errorf("%s: %+v", d.PendingMessage, b.target(0))
	}
}

// blockedSuite has the restart of a StatefulSet with a pod of the previous revision that is not ready.
func blockedSuite(t *testing.T) *suite {
	t.Helper()
	b := newSuite(t, "db")
	w := b.workload(0)
	w.Kind, b.p.Status.Targets[0].Kind, w.Ordered = common.WorkloadStatefulSet, common.WorkloadStatefulSet, true
	b.start()
	w.Complete, w.Available, w.Outdated = false, false, ptr.To[int32](2)
	w.Pods[0].Ready = false
	return b
}

func TestABrokenPodOfThePreviousRevisionIsEvicted(t *testing.T) {
	b := blockedSuite(t)
	if d := b.decide(); len(d.Actions) > 0 || d.RequeueAt.Sub(b.o.Now) > unavailableFor {
		t.Fatalf("%+v, again at %s", d.Actions, d.RequeueAt)
	}
	d := b.after(unavailableFor)
	if len(d.Actions) != 1 || d.Actions[0].Verb != Evict || d.Actions[0].Pod.Name != "db-1" {
		t.Fatalf("%+v", d.Actions)
	}
	b.record(d, Done)
	if b.workload(0).Pods[0].Terminating = true; len(b.after(time.Second).Actions) > 0 {
		t.Error("another pod is evicted while one ends")
	}
	for name, change := range map[string]func(w *Workload){
		"its pods are made at once":                   func(w *Workload) { w.Ordered = false },
		"its controller has not seen the restart":     func(w *Workload) { w.Outdated = nil },
		"the pod is of the restart":                   func(w *Workload) { w.Pods[0].Created = b.o.Now },
		"the pod is on a node that is gone":           func(w *Workload) { w.Pods[0].Lost = "which does not exist" },
		"only pods are left that the partition keeps": func(w *Workload) { w.Outdated = ptr.To[int32](0) },
	} {
		b := blockedSuite(t)
		change(b.workload(0))
		if d := b.after(unavailableFor); len(d.Actions) > 0 {
			t.Errorf("%s: %+v", name, d.Actions)
		}
	}
}

func TestAPersonIsToldToDeleteABrokenPodThatMayNotBeEvicted(t *testing.T) {
	const want = "pod db-1 of the previous revision is not ready, and a StatefulSet that makes its pods in order replaces none before it is; "
	for outcome, why := range map[Outcome]string{
		Blocked: "a disruption budget refuses its eviction", Misconfigured: "a disruption budget refuses its eviction", Refused: "the API server refuses its eviction",
	} {
		b := blockedSuite(t)
		b.p.Namespace = "shop"
		d := b.after(unavailableFor)
		b.record(d, outcome)
		if len(b.p.Status.InFlight) != 1 {
			t.Fatalf("%s: %+v", outcome, b.p.Status)
		}
		said := want + why + ", so that a person must delete it: kubectl delete pod db-1 -n shop"
		if got := b.workload(0).BlockingText(&b.p.Status.InFlight[0], "shop"); got != said {
			t.Errorf("%s: %s", outcome, got)
		}
		if b.after(15 * time.Minute); b.p.Status.History[0].Message != said {
			t.Errorf("%s: %+v", outcome, b.p.Status.History)
		}
	}
}
