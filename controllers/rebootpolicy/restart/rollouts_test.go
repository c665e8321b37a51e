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

// newRollout is newSuite with a Rollout, whose restart has begun: spec.restartAt is set, and the controller of Argo Rollouts has
// not seen it yet.
func newRollout(t *testing.T) *suite {
	t.Helper()
	b := newSuite(t, "web")
	b.workload(0).Kind = common.WorkloadRollout
	b.p.Status.Targets[0].Kind = common.WorkloadRollout
	b.change("new")
	b.decide()
	d := b.after(time.Minute)
	if len(d.Actions) != 1 || d.Actions[0].Verb != Annotate || !d.Actions[0].PodCutoff.Equal(b.o.Now) {
		t.Fatalf("actions %+v: %s", d.Actions, d.PendingMessage)
	}
	w := b.workload(0)
	w.RestartAt, w.Restarting, w.Complete, w.Updated, w.Outdated = d.Actions[0].PodCutoff, "a restart is in progress", false, false, nil
	b.record(d, Done)
	if b.p.Status.InFlight[0].Phase != autorebootv1.PhaseRollingOut {
		t.Fatalf("%+v", b.p.Status.InFlight)
	}
	return b
}

// over has the controller say that it has restarted all pods.
func (b *suite) over() {
	w := b.workload(0)
	w.Restarting, w.Complete, w.Updated, w.Outdated = "", true, true, ptr.To[int32](0)
}

func (b *suite) replacePod(i int) { b.workload(0).Pods[i].Created = b.o.Now.Truncate(time.Second) }

func TestARolloutIsRestartedOnceItsPodsAreNewWhateverItsStatusSays(t *testing.T) {
	b := newRollout(t)
	b.advance(10 * time.Second)
	b.over() // as soon as the last pod is evicted
	b.replacePod(0)
	if b.decide(); b.p.Status.InFlight[0].Phase != autorebootv1.PhaseRollingOut {
		t.Fatalf("with an old pod: %+v", b.p.Status.InFlight)
	}
	b.replacePod(1)
	b.workload(0).Pods[1].Ready = false
	if b.decide(); b.p.Status.InFlight[0].Phase != autorebootv1.PhaseRollingOut {
		t.Fatalf("with a pod that is not ready: %+v", b.p.Status.InFlight)
	}
	b.workload(0).Pods[1].Ready = true
	if b.decide(); b.p.Status.InFlight[0].Phase != autorebootv1.PhaseSoaking {
		t.Fatalf("%+v", b.p.Status.InFlight)
	}
	b.workload(0).RestartAt = time.Time{} // nothing comes of it
	b.after(2 * time.Minute)
	if h := b.p.Status.History; len(h) != 1 || h[0].Result != autorebootv1.ResultSucceeded || h[0].Message != "" || h[0].Target.Group != common.RolloutsGroup {
		t.Errorf("%+v", h)
	}
}

func TestARestartOfARolloutThatIsTakenBackBeforeItsPodsAreNewWasReverted(t *testing.T) {
	for name, test := range map[string]struct {
		at     func(time.Time) time.Time
		result string
	}{
		"removed":         {func(time.Time) time.Time { return time.Time{} }, autorebootv1.ReasonTargetReverted},
		"set to the past": {func(at time.Time) time.Time { return at.Add(-time.Hour) }, autorebootv1.ReasonTargetReverted},
		"set to later":    {func(at time.Time) time.Time { return at.Add(5 * time.Second) }, ""},
	} {
		b := newRollout(t)
		b.workload(0).RestartAt = test.at(b.workload(0).RestartAt)
		b.after(10 * time.Second)
		switch halt := b.p.Status.Halt; {
		case test.result == "" && halt == nil:
		case test.result == "" || halt == nil || halt.Reason != test.result:
			t.Errorf("%s: %+v", name, halt)
		}
	}
}

func TestARestartOfARolloutThatNobodyDoesTimesOutWithTheReason(t *testing.T) {
	b := newRollout(t)
	b.after(15 * time.Minute)
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonTimedOut || h[0].Message != "a restart is in progress" {
		t.Errorf("%+v", h)
	}
	// It is tried again, although the first attempt is not over.
	if d := b.after(10 * time.Minute); len(d.Actions) != 1 || !d.Actions[0].PodCutoff.After(b.workload(0).RestartAt) {
		t.Errorf("%+v: %s", d.Actions, d.PendingMessage)
	}
}

func TestARestartByAnotherUserHoldsOursUntilItHasComeToAStandstill(t *testing.T) {
	b := newSuite(t, "web")
	w := b.workload(0)
	w.Kind, b.p.Status.Targets[0].Kind = common.WorkloadRollout, common.WorkloadRollout
	w.RestartAt, w.Restarting, w.Complete, w.Updated, w.Outdated = noon().Add(time.Hour), "a restart is in progress", false, false, nil
	b.change("new")
	b.decide()
	if d := b.after(time.Minute); b.target(0).Pending.Reason != autorebootv1.ReasonRolloutInProgress || !strings.Contains(d.PendingMessage, w.Restarting) {
		t.Errorf("%+v: %s", b.target(0).Pending, d.PendingMessage)
	}
	b.requestRestart(0) // which would be taken for that one
	if d := b.after(58 * time.Minute); len(d.Actions) > 0 {
		t.Errorf("%+v", d.Actions)
	}
	if d := b.after(2 * time.Minute); len(d.Actions) != 1 {
		t.Errorf("held for ever: %s", d.PendingMessage)
	}
}

// A Rollout that is restarted by a revision carries the id on its pod template, and no spec.restartAt.
func TestARolloutIsRestartedByARevision(t *testing.T) {
	b := newRollout(t)
	b.workload(0).RestartAt, b.workload(0).RestartID = time.Time{}, b.p.Status.InFlight[0].ID
	b.advance(10 * time.Second)
	if b.decide(); b.p.Status.Halt != nil || b.p.Status.InFlight[0].Phase != autorebootv1.PhaseRollingOut {
		t.Fatalf("%+v", b.p.Status)
	}
	b.workload(0).Obstacle = autorebootv1.ReasonPaused // a step waits for a person
	if b.after(24 * time.Hour); len(b.p.Status.InFlight) != 1 || b.p.Status.InFlight[0].Phase != autorebootv1.PhaseRollingOut {
		t.Fatalf("%+v", b.p.Status)
	}
	b.workload(0).Obstacle = ""
	b.over()
	b.replacePod(0)
	b.replacePod(1)
	if b.decide(); b.p.Status.InFlight[0].Phase != autorebootv1.PhaseSoaking {
		t.Fatalf("%+v", b.p.Status.InFlight)
	}
}
