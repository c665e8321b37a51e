// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// What a restart had no time for while its workload could not be read, it has a minute for afterwards.
func TestTimeWithoutAReadIsNoTimeout(t *testing.T) {
	b := newSuite(t)
	b.start()
	b.workload(0).Complete, b.workload(0).Available = false, false
	b.workload(0).Unread = "its pods cannot be read"
	if d := b.after(time.Hour); len(d.Status.InFlight) != 1 || len(d.Messages) > 0 || len(d.Actions) > 0 {
		t.Fatalf("while it cannot be read: %+v", d)
	}
	b.workload(0).Unread, b.workload(0).ReadSince = "", b.o.Now
	for range 2 {
		if d := b.after(29 * time.Second); len(d.Status.InFlight) != 1 {
			t.Fatalf("within a minute: %+v", d.Messages)
		}
	}
	if d := b.after(3 * time.Second); len(d.Status.InFlight) != 0 || d.Status.History[0].Reason != autorebootv1.ReasonTimedOut {
		t.Errorf("after a minute: %+v", d.Status)
	}
}

// A trigger that something else observes is as that says.
func TestATriggerIsUnknownWhereNothingObservesIt(t *testing.T) {
	b := newSuite(t, "api", "db")
	b.decide()
	for i, want := range []autorebootv1.TriggerState{autorebootv1.TriggerIdle, autorebootv1.TriggerUnknown} {
		b.workload(i).Unread = "the workload cannot be read"
		if got := b.decide().Status.Triggers[0]; got.State != want || (got.Reason == autorebootv1.ReasonUnknown) != (want == autorebootv1.TriggerUnknown) {
			t.Errorf("%d cannot be read: %+v", i+1, got)
		}
	}
}

// One that was not selected before is not selected because it cannot be read.
func TestWhatWasLeftStaysLeftWhileItCannotBeRead(t *testing.T) {
	b := newSuite(t)
	b.decide()
	b.p.Status.UnselectedTargets, b.p.Status.Targets = b.p.Status.Targets, nil
	b.workload(0).Unread = "its pods cannot be read"
	if d := b.decide(); len(d.Status.Targets) != 0 || len(d.Status.UnselectedTargets) != 1 || len(d.Status.UnselectedTargets[0].Baselines) == 0 {
		t.Errorf("%+v", d.Status)
	}
}
