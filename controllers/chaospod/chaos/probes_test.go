// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// probedSuite has a run that has chosen its victim and killed nothing yet, and the probe shop with maxFailures 2.
func probedSuite(t *testing.T, change ...func(*chaosv1.ChaosPodSpec)) *suite {
	t.Helper()
	b := newSuite(t)
	b.p.Spec.Verification.Probes = []common.VerificationProbe{
		{Name: "shop", Host: "shop.example.com", TCPSocket: &common.TCPSocketAction{}, MaxFailures: ptr.To[int32](2)},
	}
	for _, c := range change {
		c(&b.p.Spec)
	}
	if d := b.after(10 * time.Minute); len(d.Actions) > 0 || b.p.Status.CurrentRun == nil {
		t.Fatalf("%+v, %+v", d.Actions, b.p.Status)
	}
	return b
}

// sent has requests of the probe shop be observed.
func (s *suite) sent(sent, failed int64, change ...func(*requestcount.Requests)) {
	r := requestcount.Requests{ProbeRequests: common.ProbeRequests{Name: "shop", RequestCounts: common.RequestCounts{Sent: sent, Failed: failed}}}
	for _, c := range change {
		c(&r)
	}
	s.o.Requests = []requestcount.Requests{r}
}

// killProbed has requests succeed, and then the victim die.
func (s *suite) killProbed() {
	s.t.Helper()
	s.sent(1, 0)
	d := s.after(time.Second)
	if len(d.Actions) != 1 {
		s.t.Fatalf("nothing dies: %+v", s.p.Status.CurrentRun)
	}
	s.answer(d, Done)
	s.remove(d.Actions[0].UID)
}

// expectLast expects the record of the only run.
func (s *suite) expectLast(result, reason, message string) {
	s.t.Helper()
	if run := s.last(); len(s.p.Status.History) != 1 || run.Result != result || run.Reason != reason || !strings.HasPrefix(run.Message, message) {
		s.t.Fatalf("%+v, want %s %s %q", run, result, reason, message)
	}
}

func TestARunIsSurvivedWithTheRequestsThatDidNotFail(t *testing.T) {
	b := probedSuite(t)
	b.killProbed()
	if c := b.p.Status.CurrentRun; c.Phase != chaosv1.RunVerifying || len(c.Probes) != 1 || c.Probes[0].Sent != 1 {
		t.Fatalf("%+v", c)
	}
	b.sent(1240, 0)
	b.replaced("new")
	b.after(time.Second)
	b.expectLast(chaosv1.ResultSurvived, chaosv1.ReasonRecovered, "0 of 1,240 requests failed while pods died; died: ")
	if run := b.last(); run.Requests == nil || run.Requests.Sent != 1240 || run.RecoveryDuration == nil {
		t.Errorf("%+v", run)
	}
	expectOwner(t, b.last())
	if said := b.message(chaosv1.ConditionSurvived); !strings.Contains(said, "0 of 1,240 requests failed while pods died") {
		t.Errorf("Survived says %q", said)
	}
}

func TestNothingIsKilledWhereAProbeFailsAlready(t *testing.T) {
	for name, test := range map[string]struct {
		sent, failed int64
		change       func(*requestcount.Requests)
		after        time.Duration
		message      string // none while it waits
	}{
		"none yet":          {0, 0, nil, time.Second, ""},
		"unsettled":         {0, 0, func(r *requestcount.Requests) { r.Unsettled = true }, time.Second, ""},
		"as many as may":    {2, 2, nil, time.Minute, ""},
		"one too many":      {3, 3, nil, time.Second, "3 of 3 requests failed before any pod was killed; 3 of 3 of probe shop (maxFailures: 2); no pod was killed: pod api-"},
		"too many of some":  {9, 3, nil, time.Second, "3 of 9 requests failed before any pod was killed; 3 of 9 of probe shop (maxFailures: 2); no pod was killed: pod api-"},
		"none may be sent":  {0, 0, func(r *requestcount.Requests) { r.NotSent = "Denied" }, 2 * time.Minute, "no request of probe shop has succeeded (Denied); no pod was killed: pod api-"},
		"a fault of ours":   {0, 0, func(r *requestcount.Requests) { r.Inconclusive = 7 }, time.Minute, ""},
		"never a success":   {2, 2, nil, 2 * time.Minute, "2 of 2 requests failed before any pod was killed; no request of probe shop has succeeded; no pod was killed: pod api-"},
		"nothing was asked": {0, 0, nil, 2 * time.Minute, "no request of probe shop has succeeded; no pod was killed: pod api-"},
	} {
		t.Run(name, func(t *testing.T) {
			b := probedSuite(t)
			b.sent(test.sent, test.failed)
			if test.change != nil {
				test.change(&b.o.Requests[0])
			}
			if d := b.after(test.after); len(d.Actions) > 0 {
				t.Fatalf("%+v", d.Actions)
			}
			if test.message != "" {
				b.expectLast(chaosv1.ResultNoVictim, chaosv1.ReasonProbesFailed, test.message)
				if b.p.Status.KilledToday != 0 || b.p.Status.Halt != nil {
					t.Errorf("%+v", b.p.Status)
				}
				b.expectCondition(chaosv1.ConditionSurvived, "Unknown/NoRun")
				return
			}
			if len(b.p.Status.History) > 0 {
				t.Fatalf("it does not wait: %+v", b.p.Status.History)
			}
			b.killProbed()
		})
	}
}

// A hold is reported once it lasts: a moment is no reason to write the status.
func TestThatARunWaitsForARequestIsToldOnceItLasts(t *testing.T) {
	b := probedSuite(t)
	before := b.p.Status.DeepCopy()
	b.sent(0, 0, func(r *requestcount.Requests) { r.NotSent = "HostUnresolved" })
	d := b.after(heldInterval - time.Second)
	if d.RequeueAt.IsZero() || d.RequeueAt.After(b.o.Now.Add(time.Second)) || b.reason(chaosv1.ConditionWaiting) != "False/NothingPending" || before.CurrentRun.Probes != nil {
		t.Fatalf("again at %s: %+v", d.RequeueAt, b.p.Status)
	}
	b.after(2 * time.Second)
	b.expectCondition(chaosv1.ConditionWaiting, "True/ProbesFailed")
	if said := b.message(chaosv1.ConditionWaiting); said != "no request of probe shop has succeeded (HostUnresolved)" {
		t.Errorf("says %q", said)
	}
	b.killProbed()
	b.expectCondition(chaosv1.ConditionWaiting, "False/NothingPending")
}

func TestCountsOfARunAreNoWriteOfTheirOwn(t *testing.T) {
	b := probedSuite(t)
	b.killProbed()
	for n := range int64(5) {
		b.sent(10*n+1, min(n, 2)) // as many as may
		before := b.p.Status.DeepCopy()
		if b.after(time.Second); b.p.Status.CurrentRun.Probes[0] != before.CurrentRun.Probes[0] {
			t.Errorf("the status was changed for a count: %+v", b.p.Status.CurrentRun.Probes)
		}
	}
	b.sent(50, 3) // a process that ends would take the failures with it
	if b.after(time.Second); b.p.Status.CurrentRun.Probes[0].Failed != 3 {
		t.Fatalf("%+v", b.p.Status.CurrentRun)
	}
	b.sent(60, 4)
	if b.after(time.Second); b.p.Status.CurrentRun.Probes[0].Failed != 3 {
		t.Errorf("%+v", b.p.Status.CurrentRun.Probes)
	}
}

func TestTooManyFailuresFailARunOnceItsOwnerIsBack(t *testing.T) {
	for _, onFailure := range []common.FailurePolicy{common.FailureHalt, common.FailureContinue} {
		b := probedSuite(t, func(s *chaosv1.ChaosPodSpec) {
			s.Verification.OnFailure, s.Verification.Soak = &onFailure, ptr.To(common.Duration("5m"))
		})
		b.killProbed()
		b.sent(50, 3)
		b.after(time.Minute)
		if len(b.p.Status.History) > 0 {
			t.Fatalf("%s: it ended before its owner was back: %+v", onFailure, b.p.Status.History)
		}
		b.sent(1100, 37)
		b.replaced("new")
		b.after(time.Second) // and not after the soak
		b.expectLast(chaosv1.ResultProbesFailed, chaosv1.ReasonProbesFailed,
			"37 of 1,100 requests failed while pods died; 37 of 1,100 of probe shop (maxFailures: 2)")
		expectOwner(t, b.last())
		b.expectCondition(chaosv1.ConditionSurvived, "False/ProbesFailed")
		if halted := b.p.Status.Halt != nil; halted != (onFailure == common.FailureHalt) {
			t.Errorf("%s: halt %+v", onFailure, b.p.Status.Halt)
		}
		if b.p.Status.LastSuccessfulRunTime != nil || b.p.Status.VerifiedTarget == "" || b.last().RecoveryDuration == nil {
			t.Errorf("%s: %+v", onFailure, b.p.Status)
		}
		if onFailure == common.FailureHalt {
			b.expectCondition(chaosv1.ConditionStalled, "True/ProbesFailed")
		}
	}
}

func TestTooManyFailuresSpareTheOtherVictims(t *testing.T) {
	b := two(t)
	b.edit(func(s *chaosv1.ChaosPodSpec) {
		s.Count = ptr.To(intstr.FromString("100%"))
		s.Verification.Probes = []common.VerificationProbe{{Name: "shop", Host: "shop.example.com", MaxFailures: ptr.To[int32](0)}}
	})
	b.decide()
	b.after(10 * time.Minute)
	b.sent(1, 0)
	d := b.after(time.Second)
	if len(d.Actions) != 2 {
		t.Fatalf("%+v", d.Actions)
	}
	b.p.Status = Record(b.p, []Result{{Action: d.Actions[0], Outcome: Done}, {Action: d.Actions[1], Outcome: Retry}}, b.o.Now, b.o.Requests).Status
	b.remove(d.Actions[0].UID)
	b.sent(3, 1)
	if d := b.after(time.Second); len(d.Actions) > 0 || b.p.Status.CurrentRun.Phase != chaosv1.RunVerifying || b.p.Status.CurrentRun.Victims[1].Reason != chaosv1.ReasonProbesFailed {
		t.Errorf("%+v, %+v", d.Actions, b.p.Status.CurrentRun)
	}
}

func TestAVerdictWaitsForRequestsThatMayDecide(t *testing.T) {
	for name, c := range map[string]struct {
		sent            int64
		change          func(*requestcount.Requests)
		result, message string // at last
	}{
		"none of a probe that is new": {0, func(r *requestcount.Requests) { r.NotSent = "Denied" }, chaosv1.ResultProbesFailed, "no request of probe shop was sent (Denied)"},
		"unsettled":                   {40, func(r *requestcount.Requests) { r.Unsettled = true }, chaosv1.ResultSurvived, "0 of 40 requests failed while pods died"},
	} {
		t.Run(name, func(t *testing.T) {
			b := probedSuite(t)
			b.killProbed()
			b.p.Status.CurrentRun.Probes = nil
			b.sent(c.sent, 0, c.change)
			b.replaced("new")
			d := b.after(time.Second)
			if b.p.Status.CurrentRun == nil || d.RequeueAt.After(b.o.Now.Add(retryInterval)) {
				t.Fatalf("it does not wait: %+v, again at %s", b.p.Status.History, d.RequeueAt)
			}
			b.after(15 * time.Minute)
			if run := b.last(); run.Result != c.result || !strings.HasPrefix(run.Message, c.message) {
				t.Errorf("%+v", run)
			}
		})
	}
}

func TestARunThatEndsOtherwiseHasItsCounts(t *testing.T) {
	for name, end := range map[string]func(*suite){
		chaosv1.ReasonRecoveryFailed: func(b *suite) {},
		chaosv1.ReasonTargetGone:     func(b *suite) { b.o.Owners[0].Desired = 0 },
	} {
		b := probedSuite(t)
		b.killProbed()
		b.sent(900, 1)
		end(b)
		b.after(time.Hour)
		if run := b.last(); run.Reason != name || !strings.HasPrefix(run.Message, "1 of 900 requests failed while pods died; ") || run.Requests == nil || run.Requests.Sent != 900 {
			t.Errorf("%+v", run)
		}
	}
	// A suspension spares the victim, and the counts stay.
	b := probedSuite(t)
	b.sent(4, 1)
	b.edit(func(s *chaosv1.ChaosPodSpec) { s.Suspend = ptr.To(true) })
	b.after(time.Second)
	b.expectLast(chaosv1.ResultNoVictim, chaosv1.ReasonSuspended, "1 of 4 requests failed before any pod was killed; no pod was killed: ")
}

// What another process has counted stays until this one has counted anything, and what it found of a probe that the spec does not
// have any more.
func TestTheCountsOfTheStatusOfARunGoOn(t *testing.T) {
	b := probedSuite(t)
	b.killProbed()
	b.sent(50, 3)
	b.after(time.Second)
	b.o.Requests = nil
	b.replaced("new")
	b.after(time.Second)
	b.expectLast(chaosv1.ResultProbesFailed, chaosv1.ReasonProbesFailed, "3 of 50 requests failed while pods died; none was sent while no replica led; "+
		"3 of 50 of probe shop (maxFailures: 2)")

	b = probedSuite(t)
	b.killProbed()
	b.o.WithoutProbes, b.o.BlockedBy = true, Obstacle{chaosv1.ReasonForbidden, "not approved"}
	b.replaced("new")
	b.after(time.Second)
	b.expectLast(chaosv1.ResultSurvived, chaosv1.ReasonRecovered, "0 of 1 requests failed while pods died; died: ")
}

func TestADryRunAsksNothing(t *testing.T) {
	b := newSuite(t)
	b.edit(func(s *chaosv1.ChaosPodSpec) {
		s.DryRun = ptr.To(true)
		s.Verification.Probes = []common.VerificationProbe{{Name: "shop", Host: "shop.example.com", MaxFailures: ptr.To[int32](0)}}
	})
	b.decide()
	b.answer(b.after(10*time.Minute), Done)
	if run := b.last(); run.Result != chaosv1.ResultDryRun || run.Requests != nil {
		t.Errorf("%+v", run)
	}
}
