// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// unselect has the policy select its only workload no more, and decides; the returned function has it selected again.
func (b *suite) unselect() (reselect func()) {
	b.t.Helper()
	all := b.o.Workloads
	b.o.Workloads, b.o.Unselected = nil, map[types.UID]bool{all[0].UID: true}
	if b.decide(); len(b.p.Status.Targets) > 0 || len(b.p.Status.UnselectedTargets) != 1 {
		b.t.Fatalf("%+v", b.p.Status)
	}
	return func() { b.o.Workloads, b.o.Unselected = all, nil }
}

// rename gives the trigger of the source another name.
func (b *suite) rename() {
	b.p.Generation++
	b.p.Spec.Triggers[0].Name, b.workload(0).Signals[0].Trigger = "settings", "settings"
}

// newKeys has other keys of the source count.
func (b *suite) newKeys() {
	b.p.Generation++
	s := &b.workload(0).Signals[0]
	s.Fingerprint, s.Incomparable = "of other keys", true
}

func TestWhatIsOwedStaysOwed(t *testing.T) {
	for name, change := range map[string]func(b *suite){
		"the trigger is renamed": func(b *suite) { b.rename() },
		"the trigger is renamed while its source cannot be read": func(b *suite) {
			b.rename()
			b.workload(0).Signals[0].Unknown = "Unreadable"
			b.decide()
			b.workload(0).Signals[0].Unknown = ""
		},
		"the trigger is renamed while no selector can be evaluated": func(b *suite) {
			b.rename()
			seen := b.workload(0).Signals[0]
			b.workload(0).Signals[0] = Signal{Trigger: "settings", Source: "*", Unknown: "Unreadable"}
			b.decide()
			b.workload(0).Signals[0] = seen
		},
		"other keys count": func(b *suite) { b.newKeys() },
		"other keys count while the source cannot be read": func(b *suite) {
			b.newKeys()
			b.workload(0).Signals[0].Unknown = "Unreadable"
			b.decide()
			b.workload(0).Signals[0].Unknown = ""
		},
		"the workload is not selected for a while": func(b *suite) { b.unselect()() },
		"the workload is not selected while other keys begin to count": func(b *suite) {
			reselect := b.unselect()
			reselect()
			b.newKeys()
		},
	} {
		t.Run(name, func(t *testing.T) {
			for state, begin := range map[string]func(b *suite){
				"waits for a slot": func(b *suite) { b.change("new"); b.decide() },
				"waits for its retry": func(b *suite) {
					b.o.Others.Free = 1
					b.start()
					b.timeOut()
					b.o.Others.Free = 0
					b.workload(0).Complete, b.workload(0).Available = true, true
				},
			} {
				b := newSuite(t)
				b.o.Others.Free = 0
				begin(b)
				change(b)
				if b.decide(); b.target(0).Pending == nil {
					t.Fatalf("%s: nothing is pending", state)
				}
				b.o.Others.Free = 1
				if d := b.after(20 * time.Minute); len(d.Actions) != 1 {
					t.Errorf("%s: %d actions: %s", state, len(d.Actions), d.PendingMessage)
				}
			}
		})
	}
}

// A change that came while nothing could become pending is owed as well.
func TestAChangeOfAWorkloadThatIsNotSelectedIsOwedOnceItIs(t *testing.T) {
	for name, change := range map[string]func(b *suite){
		"a change": func(b *suite) { b.change("new") },
		"a change, and other keys": func(b *suite) {
			b.change("new")
			b.newKeys()
			b.workload(0).Signals[0].Recorded = b.o.Now
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			reselect := b.unselect()
			b.advance(time.Minute)
			reselect()
			change(b)
			if b.decide(); b.target(0).Pending == nil {
				t.Errorf("%+v", b.p.Status)
			}
		})
	}
}

func TestARestartThatIsNotBegunOfAWorkloadThatIsNotSelectedIsOwed(t *testing.T) {
	b := newSuite(t)
	b.change("new")
	b.decide()
	if d := b.after(time.Minute); len(d.Actions) != 1 {
		t.Fatal(d.PendingMessage)
	}
	b.workload(0).Unselected = true
	if d := b.decide(); len(d.Actions) > 0 || len(b.p.Status.InFlight) > 0 {
		t.Fatalf("%+v", b.p.Status)
	}
	if h := b.p.Status.History[0]; h.Reason != autorebootv1.ReasonUnselected || b.p.Status.UnselectedTargets[0].Pending == nil || b.p.Status.UnselectedTargets[0].Attempts != 0 {
		t.Errorf("%+v", b.p.Status)
	}
	b.workload(0).Unselected = false
	if d := b.after(time.Minute); len(d.Actions) != 1 {
		t.Error(d.PendingMessage)
	}
}

func TestAWorkloadThatIsGoneIsNotKept(t *testing.T) {
	b := newSuite(t)
	b.change("new")
	b.decide()
	b.unselect()
	b.o.Unselected = nil
	if b.decide(); len(b.p.Status.UnselectedTargets) > 0 {
		t.Errorf("%+v", b.p.Status)
	}
}

func TestATriggerThatIsRemovedIsOwedNothing(t *testing.T) {
	b := newSuite(t)
	b.o.Others.Free = 0
	b.change("new")
	b.decide()
	b.p.Spec.Triggers = b.p.Spec.Triggers[1:]
	if b.decide(); b.target(0).Pending != nil || b.messages[len(b.messages)-1] != "TriggerRecovered" {
		t.Errorf("%+v, %v", b.target(0).Pending, b.messages)
	}
}

// A change in a suspension or a dry run is owed afterwards; a time of a schedule is not.
func TestAScheduleInASuspensionIsNotMadeUpFor(t *testing.T) {
	on, off := true, false
	for name, set := range map[string]func(b *suite, to *bool){
		autorebootv1.ReasonSuspended: func(b *suite, to *bool) { b.p.Spec.Suspend = to },
		autorebootv1.ReasonDryRun:    func(b *suite, to *bool) { b.p.Spec.DryRun = to },
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			set(b, &on)
			b.workload(0).Signals[1].Fingerprint = "tuesday"
			b.after(time.Minute)
			if h := b.p.Status.History; len(h) != 1 || h[0].Result != autorebootv1.ResultSuperseded || h[0].Reason != name {
				t.Fatalf("%+v", h)
			}
			b.change("new")
			b.after(time.Minute)
			set(b, &off)
			b.o.Others.Free = 0
			if b.after(time.Minute); b.target(0).Pending == nil || len(b.target(0).Pending.Triggers) != 1 || b.target(0).Pending.Triggers[0] != "config" {
				t.Errorf("%+v", b.target(0).Pending)
			}
			b.workload(0).Signals[1].Fingerprint = "wednesday"
			if b.after(time.Minute); len(b.target(0).Pending.Triggers) != 2 {
				t.Errorf("%+v", b.target(0).Pending)
			}
		})
	}
}

func TestASuspensionLeavesAScheduleThatWaitsAlready(t *testing.T) {
	on, off := true, false
	b := newSuite(t)
	b.o.Others.Free = 0
	b.workload(0).Signals[1].Fingerprint = "tuesday"
	b.decide()
	b.p.Spec.Suspend = &on
	b.after(time.Minute)
	b.p.Spec.Suspend, b.o.Others.Free = &off, 1
	if d := b.after(time.Minute); len(d.Actions) != 1 {
		t.Error(d.PendingMessage)
	}
}

// A deadline below debounce.quietPeriod let no run start.
func TestAScheduleIsNotDebounced(t *testing.T) {
	b := newSuite(t)
	b.workload(0).Signals[1].Fingerprint, b.workload(0).Signals[1].Deadline = "tuesday", b.o.Now.Add(5*time.Second)
	if d := b.decide(); len(d.Actions) != 1 {
		t.Error(d.PendingMessage)
	}
}

// A corrected source was held for ever by the rollout that the one before had broken.
func TestARolloutOfAFailedRestartDoesNotHoldTheCorrection(t *testing.T) {
	b := newSuite(t)
	goOn, none := common.FailureContinue, int32(0)
	b.p.Spec.Verification.OnFailure = &goOn
	b.p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: &none}
	b.start()
	w := b.workload(0)
	w.Complete, w.Updated, w.Available = false, false, false
	w.Pods = append(w.Pods, Pod{Name: "api-3", Created: b.o.Now})
	b.timeOut()
	if len(b.p.Status.History) != 1 || b.target(0).Pending != nil {
		t.Fatalf("%+v", b.p.Status)
	}
	b.change("corrected")
	b.decide()
	if d := b.after(20 * time.Minute); len(d.Actions) != 1 {
		t.Error(d.PendingMessage)
	}
}
