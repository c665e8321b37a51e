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
	"github.com/fairlead-dev/fairlead/controllers/internal/requestcount"
)

// probedSuite has a restart whose rollout goes on, and the probe shop with maxFailures 2.
func probedSuite(t *testing.T, change ...func(*autorebootv1.RebootPolicySpec)) *suite {
	t.Helper()
	b := newSuite(t)
	b.p.Spec.Verification.Probes = []common.VerificationProbe{
		{Name: "shop", Host: "shop.example.com", TCPSocket: &common.TCPSocketAction{}, MaxFailures: ptr.To[int32](2)},
	}
	for _, c := range change {
		c(&b.p.Spec)
	}
	b.workload(0).Complete, b.workload(0).Available = true, true
	b.start()
	b.workload(0).Complete, b.workload(0).Available = false, false
	b.after(time.Second)
	if f := b.p.Status.InFlight; len(f) != 1 {
		t.Fatalf("in flight: %+v", f)
	}
	return b
}

// sent has requests of the probe shop be observed.
func (b *suite) sent(sent, failed int64, change ...func(*requestcount.Requests)) {
	b.t.Helper()
	p := requestcount.Requests{ProbeRequests: common.ProbeRequests{Name: "shop", RequestCounts: common.RequestCounts{Sent: sent, Failed: failed}}}
	for _, c := range change {
		c(&p)
	}
	b.o.Requests = map[string][]requestcount.Requests{b.p.Status.InFlight[0].ID: {p}}
}

func (b *suite) replaced() {
	w := b.workload(0)
	w.Complete, w.Available = true, true
	b.after(time.Second)
}

// ended returns the record of the only restart that has ended.
func (b *suite) ended(result, reason, message string) *autorebootv1.RestartRecord {
	b.t.Helper()
	h := b.p.Status.History
	if len(h) != 1 || h[0].Result != result || h[0].Reason != reason || h[0].Message != message {
		b.t.Fatalf("%+v, want %s %s %q", h, result, reason, message)
	}
	return &h[0]
}

func TestARestartIsVerifiedWithTheRequestsThatDidNotFail(t *testing.T) {
	b := probedSuite(t)
	b.sent(100, 0)
	b.replaced()
	if f := b.p.Status.InFlight[0]; f.Phase != autorebootv1.PhaseSoaking || len(f.Probes) != 1 || f.Probes[0].Sent != 100 {
		t.Fatalf("%+v", f)
	}
	b.sent(1240, 0)
	b.after(2 * time.Minute)
	record := b.ended(autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable, "0 of 1,240 requests failed while it restarted")
	if r := record.Requests; r == nil || r.Sent != 1240 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
}

func TestCountsAreNoWriteOfTheirOwn(t *testing.T) {
	b := probedSuite(t)
	for n := range int64(5) {
		b.sent(10*n, min(n, 2)) // as many as may
		before := b.p.Status.DeepCopy()
		if b.after(time.Second); before.InFlight[0].Probes != nil && b.p.Status.InFlight[0].Probes[0] != before.InFlight[0].Probes[0] {
			t.Errorf("the status was changed for a count: %+v", b.p.Status.InFlight[0].Probes)
		}
	}
	// A process that ends would take the failures with it.
	b.sent(50, 3)
	b.after(time.Second)
	if f := b.p.Status.InFlight[0]; f.Phase != autorebootv1.PhaseRollingOut || f.Probes[0].Failed != 3 {
		t.Fatalf("%+v", f)
	}
	b.sent(60, 4)
	if b.after(time.Second); b.p.Status.InFlight[0].Probes[0].Failed != 3 {
		t.Errorf("%+v", b.p.Status.InFlight[0].Probes)
	}
}

func TestTooManyFailuresFailARestartOnceItsRolloutIsOver(t *testing.T) {
	for _, onFailure := range []common.FailurePolicy{common.FailureHalt, common.FailureContinue} {
		b := probedSuite(t, func(s *autorebootv1.RebootPolicySpec) { s.Verification.OnFailure = &onFailure })
		b.sent(50, 3)
		b.after(time.Second)
		b.after(time.Minute)
		if len(b.p.Status.InFlight) != 1 {
			t.Fatalf("%s: it ended before its rollout: %+v", onFailure, b.p.Status.History)
		}
		b.sent(1100, 37)
		b.replaced()
		b.ended(autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed,
			"37 of 1,100 requests failed while it restarted; 37 of 1,100 of probe shop (maxFailures: 2)")
		if halted := b.p.Status.Halt != nil; halted != (onFailure == common.FailureHalt) {
			t.Errorf("%s: halt %+v", onFailure, b.p.Status.Halt)
		}
		// All pods are new: nothing is left to be tried again.
		if target := b.target(0); target.Pending != nil || target.Attempts != 0 {
			t.Errorf("%s: %+v", onFailure, target)
		}
		b.p.Annotations = map[string]string{autorebootv1.RetryAnnotation: "go"}
		b.after(time.Hour)
		if len(b.p.Status.InFlight) != 0 || b.p.Status.Halt != nil || b.target(0).Pending != nil {
			t.Errorf("%s: after the halt was ended: %+v", onFailure, b.p.Status)
		}
	}
}

func TestTooManyFailuresStopEvictions(t *testing.T) {
	for _, onFailure := range []common.FailurePolicy{common.FailureHalt, common.FailureContinue} {
		b := probedSuite(t, func(s *autorebootv1.RebootPolicySpec) {
			s.Strategy, s.Verification.OnFailure = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}, &onFailure
		})
		b.sent(9, 3)
		d := b.after(time.Second)
		b.ended(autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed, "3 of 9 requests failed while it restarted; 3 of 9 of probe shop (maxFailures: 2)")
		if len(d.Actions) > 0 || b.target(0).Pending == nil {
			t.Errorf("%s: actions %v, pending %+v", onFailure, d.Actions, b.target(0).Pending)
		}
		if halted := b.p.Status.Halt != nil; halted != (onFailure == common.FailureHalt) {
			t.Errorf("%s: halt %+v", onFailure, b.p.Status.Halt)
		}
	}
}

func TestTheVerdictWaitsForRequestsThatMayDecide(t *testing.T) {
	for name, c := range map[string]struct {
		sent, failed            int64
		change                  func(*requestcount.Requests)
		result, reason, message string // at last; none while it waits
	}{
		"none yet":         {0, 0, func(*requestcount.Requests) {}, autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed, "no request of probe shop was sent"},
		"none may be sent": {0, 0, func(p *requestcount.Requests) { p.NotSent = "Denied" }, autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed, "no request of probe shop was sent (Denied)"},
		"unsettled":        {40, 0, func(p *requestcount.Requests) { p.Unsettled = true }, autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable, "0 of 40 requests failed while it restarted"},
	} {
		t.Run(name, func(t *testing.T) {
			b := probedSuite(t)
			b.sent(c.sent, c.failed, c.change)
			b.replaced()
			d := b.after(3 * time.Minute)
			if len(b.p.Status.InFlight) != 1 || !d.RequeueAt.Equal(b.o.Now.Add(retryInterval)) {
				t.Fatalf("it does not wait: %+v, again at %s", b.p.Status.History, d.RequeueAt)
			}
			b.after(15 * time.Minute)
			b.ended(c.result, c.reason, c.message)
		})
	}
	b := probedSuite(t)
	b.sent(40, 0, func(p *requestcount.Requests) { p.Unsettled = true })
	b.replaced()
	b.after(3 * time.Minute)
	b.sent(43, 3)
	b.after(time.Second)
	b.ended(autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed, "3 of 43 requests failed while it restarted; 3 of 43 of probe shop (maxFailures: 2)")
}

func TestFailuresOfTheOperatorsNetworkAndTheTimeWithoutALeaderAreTold(t *testing.T) {
	b := probedSuite(t)
	b.sent(7, 1, func(p *requestcount.Requests) { p.Inconclusive, p.Resumed = 1200, true })
	b.replaced()
	b.after(3 * time.Minute)
	record := b.ended(autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable, "1 of 7 requests failed while it restarted; "+
		"1,200 more do not count, since the operator's own network was in doubt; none was sent while no replica led")
	if record.Requests.Inconclusive != 1200 {
		t.Errorf("%+v", record.Requests)
	}
}

// What another process has counted stays until this one has counted anything.
func TestTheCountsOfTheStatusGoOn(t *testing.T) {
	b := probedSuite(t)
	b.sent(50, 3)
	b.after(time.Second)
	b.o.Requests = nil
	b.replaced()
	b.ended(autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed, "3 of 50 requests failed while it restarted; none was sent while no replica led; "+
		"3 of 50 of probe shop (maxFailures: 2)")
}

func TestARestartThatFailsOtherwiseHasItsCounts(t *testing.T) {
	b := probedSuite(t)
	b.sent(900, 1)
	b.workload(0).Pods = nil
	b.timeOut()
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonTimedOut || !strings.HasPrefix(h[0].Message, "1 of 900 requests failed while it restarted") || h[0].Requests == nil {
		t.Errorf("%+v", h)
	}
}
