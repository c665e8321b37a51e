// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// newPause is a Deployment whose restart has begun, and whose rollout the policy has paused for 30m.
func newPause(t *testing.T) *suite {
	t.Helper()
	b := newSuite(t, "web")
	b.workload(0).Pause = 30 * time.Minute
	b.record(b.startPaused(), Done)
	w := b.workload(0)
	w.Paused, w.Obstacle, w.Updated = true, autorebootv1.ReasonPaused, true
	outdated := int32(2)
	w.Outdated = &outdated
	return b
}

func (b *suite) startPaused() Decision {
	b.change("new")
	b.decide()
	return b.after(time.Minute)
}

// resumes are the resumptions among the actions of a decision.
func resumes(d Decision) (n int) {
	for _, a := range d.Actions {
		if a.Verb == Resume {
			n++
		}
	}
	return n
}

func TestAPausedRolloutIsResumedOnceItsTimeIsOverAndVerifiedThen(t *testing.T) {
	b := newPause(t)
	if d := b.after(29 * time.Minute); resumes(d) > 0 || len(b.p.Status.InFlight) != 1 || d.RequeueAt.After(b.o.Now.Add(2*time.Minute)) {
		t.Fatalf("before: %+v, in flight %+v, again at %s", d.Actions, b.p.Status.InFlight, d.RequeueAt)
	}
	d := b.after(time.Minute)
	if resumes(d) != 1 {
		t.Fatalf("%+v", d.Actions)
	}
	b.record(d, Retry)
	if d = b.after(time.Second); resumes(d) != 1 {
		t.Fatalf("it is tried again: %+v", d.Actions)
	}
	b.record(d, Done)
	w := b.workload(0)
	w.Paused, w.Obstacle, w.Outdated = false, "", new(int32)
	if d = b.after(time.Minute); resumes(d) > 0 || b.p.Status.InFlight[0].Phase != autorebootv1.PhaseSoaking {
		t.Fatalf("%+v, %+v", d.Actions, b.p.Status.InFlight)
	}
	if b.after(time.Hour); len(b.p.Status.History) != 1 || b.p.Status.History[0].Result != autorebootv1.ResultSucceeded {
		t.Errorf("%+v", b.p.Status.History)
	}
}

// Whatever ends the restart ends the pause, and so does a Deployment that asks for none any more.
func TestAPauseEndsWithItsRestart(t *testing.T) {
	for name, change := range map[string]func(*suite){
		"reverted": func(b *suite) {
			w := b.workload(0)
			w.RestartID, w.TemplateHash = "", b.p.Status.InFlight[0].Template
		},
		"asked for no more": func(b *suite) { b.workload(0).Pause = 0 },
		"not in flight":     func(b *suite) { b.p.Status.InFlight = nil },
		"not selected":      func(b *suite) { b.workload(0).Unselected, b.workload(0).Pause = true, 0 },
	} {
		b := newPause(t)
		change(b)
		if d := b.after(time.Second); resumes(d) != 1 {
			t.Errorf("%s: %+v, in flight %+v", name, d.Actions, b.p.Status.InFlight)
		}
	}
}
