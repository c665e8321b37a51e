// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestARestartIsVerified(t *testing.T) {
	b := newSuite(t)
	b.start()
	if b.p.Status.InFlight[0].Phase != autorebootv1.PhaseRollingOut {
		t.Fatalf("%+v", b.p.Status.InFlight)
	}
	b.after(time.Minute)
	if d := b.after(2 * time.Minute); !d.RequeueAt.IsZero() {
		t.Errorf("again at %s", d.RequeueAt)
	}
	want := []string{"TriggerFired", "RestartStarted", "RestartVerified"}
	if diff := cmp.Diff(want, b.messages); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	h := b.p.Status.History
	if len(h) != 1 || h[0].ID != "0123abcd-1" || h[0].Result != autorebootv1.ResultSucceeded || h[0].Reason != autorebootv1.ReasonStayedAvailable {
		t.Errorf("history: %+v", h)
	}
}

// Whatever is lost after the plan was stored, the same values are written again, or found to be there.
func TestAPlannedRestartIsRepeatedWithTheSameValues(t *testing.T) {
	b := newSuite(t)
	b.change("new")
	b.decide()
	first := b.after(time.Minute)
	for range 3 {
		d := b.after(time.Second)
		if diff := cmp.Diff(first.Actions, d.Actions); diff != "" {
			t.Fatalf("the action differs (-first +again):\n%s", diff)
		}
		b.record(d, Retry)
	}
	// It was done, and that was not recorded.
	b.workload(0).RestartID, b.workload(0).Generation = first.Actions[0].ID, 2
	d := b.after(time.Second)
	if f := b.p.Status.InFlight[0]; len(d.Actions) > 0 || f.Generation != 2 || f.Phase != autorebootv1.PhaseSoaking {
		t.Errorf("%+v, then %+v", d.Actions, f)
	}
}

func TestNotRecordedIsNotAnError(t *testing.T) {
	for outcome, again := range map[Outcome]time.Duration{Retry: retryInterval, Blocked: retryInterval} {
		b := newSuite(t)
		b.change("new")
		b.decide()
		d := b.record(b.after(time.Minute), outcome)
		if b.p.Status.InFlight[0].Phase != autorebootv1.PhasePlanned || !d.RequeueAt.Equal(b.o.Now.Add(again)) {
			t.Errorf("%s: %+v, again at %s", outcome, b.p.Status.InFlight, d.RequeueAt)
		}
	}
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		fail   func(b *suite)
		reason string
	}{
		"not available in time": {func(b *suite) { b.timeOut() }, autorebootv1.ReasonTimedOut},
		"not through the soak": {func(b *suite) {
			b.after(time.Second)
			b.workload(0).Available = false
			b.after(time.Second)
			b.after(unavailableFor)
		}, autorebootv1.ReasonUnavailable},
		"containers restart": {func(b *suite) {
			b.workload(0).Complete = false
			b.workload(0).Pods = []Pod{{Created: b.o.Now, Restarts: 1}}
			b.after(time.Second)
		}, autorebootv1.ReasonContainerRestarts},
		"containers restart in the soak": {func(b *suite) {
			b.workload(0).Pods = []Pod{{Created: b.o.Now, Ready: true, Restarts: 1, RestartsBeforeReady: 1}}
			b.after(time.Second)
			b.workload(0).Pods[0].Restarts, b.workload(0).Pods[0].RestartsBeforeReady = 2, 2
			b.after(time.Second)
		}, autorebootv1.ReasonContainerRestarts},
		"containers of a pod that was made in the soak restart": {func(b *suite) {
			b.workload(0).Pods = []Pod{{Created: b.o.Now, Ready: true}}
			b.after(time.Second)
			b.workload(0).Pods = append(b.workload(0).Pods, Pod{Created: b.o.Now.Add(time.Second), Restarts: 1})
			b.after(2 * time.Second)
		}, autorebootv1.ReasonContainerRestarts},
		"the owner reverts to a template that is known": {func(b *suite) {
			b.p.Status.InFlight[0].Template, b.workload(0).TemplateHash, b.workload(0).RestartID = "old", "old", ""
			b.after(time.Second)
		}, autorebootv1.ReasonTargetReverted},
		"the owner reverts": {func(b *suite) { b.workload(0).RestartID = ""; b.after(time.Second) }, autorebootv1.ReasonTargetReverted},
		"gone":              {func(b *suite) { b.o.Workloads = nil; b.after(time.Second) }, autorebootv1.ReasonTargetGone},
		"recreated":         {func(b *suite) { b.workload(0).UID = "other"; b.after(time.Second) }, autorebootv1.ReasonTargetGone},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.start()
			c.fail(b)
			h := b.p.Status.History
			if len(h) != 1 || h[0].Result != autorebootv1.ResultFailed || h[0].Reason != c.reason {
				t.Fatalf("history: %+v", h)
			}
			if (b.p.Status.Halt != nil) != (c.reason == autorebootv1.ReasonTargetReverted) {
				t.Errorf("halt: %+v", b.p.Status.Halt)
			}
			if gone := c.reason == autorebootv1.ReasonTargetGone; !gone && (b.target(0).Pending == nil || b.target(0).Attempts != 1) {
				t.Errorf("what it was for is lost: %+v", b.target(0))
			} else if gone && len(b.p.Status.Targets) > 0 && b.target(0).Pending != nil {
				t.Errorf("a successor is restarted: %+v", b.target(0))
			}
		})
	}
}

func TestARestartBeforeAPodIsFirstReadyIsForgiven(t *testing.T) {
	b := newSuite(t)
	b.start()
	b.workload(0).Complete = false
	b.workload(0).Pods = []Pod{{Created: b.o.Now, Restarts: 3, RestartsBeforeReady: 3}}
	b.after(time.Second)
	b.workload(0).Pods[0].Ready, b.workload(0).Complete = true, true
	b.after(time.Second)
	if b.after(5 * time.Minute); len(b.p.Status.History) != 1 || b.p.Status.History[0].Result != autorebootv1.ResultSucceeded {
		t.Errorf("%+v", b.p.Status)
	}
}

func TestADeployDuringARestartIsNoRevert(t *testing.T) {
	for name, during := range map[string]func(b *suite){
		"in the rollout": func(*suite) {},
		"in the soak":    func(b *suite) { b.after(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.workload(0).TemplateHash = "old"
			b.start()
			during(b)
			w := b.workload(0)
			w.TemplateHash, w.RestartID, w.Generation, w.Complete = "new", "", w.Generation+1, false
			b.after(time.Second)
			w.Complete = true
			b.after(time.Second)
			if b.after(5 * time.Minute); b.p.Status.Halt != nil || len(b.p.Status.History) != 1 || b.p.Status.History[0].Result != autorebootv1.ResultSucceeded {
				t.Errorf("%+v", b.p.Status)
			}
			if h := b.p.Status.History; len(h) == 1 && h[0].Message == "" {
				t.Error("the record says nothing of the other revision")
			}
		})
	}
}

func TestARolloutThatGoesOnHasNotTimedOut(t *testing.T) {
	b := newSuite(t)
	b.start()
	w := b.workload(0)
	w.Complete, w.Available, w.Desired = false, false, 4
	timeout := settingsOf(b.p).timeout
	for range 3 {
		if b.after(timeout - time.Second); len(b.p.Status.History) > 0 {
			t.Fatalf("it failed while it went on: %+v", b.p.Status.History)
		}
		w.Pods = append(w.Pods, Pod{Created: b.o.Now.Truncate(time.Second)})
		b.decide()
	}
	if b.after(timeout); len(b.p.Status.History) != 1 || b.p.Status.History[0].Reason != autorebootv1.ReasonTimedOut {
		t.Errorf("%+v", b.p.Status)
	}
}

func TestPodsThatComeAndGoDoNotHoldForEver(t *testing.T) {
	b := newSuite(t)
	b.start()
	w := b.workload(0)
	w.Complete, w.Available, w.Desired = false, false, 3
	timeout := settingsOf(b.p).timeout
	for range 4 {
		w.Pods = []Pod{{Created: b.o.Now.Truncate(time.Second)}}
		b.after(timeout - time.Minute)
	}
	if len(b.p.Status.History) != 1 || b.p.Status.History[0].Reason != autorebootv1.ReasonTimedOut {
		t.Errorf("%+v", b.p.Status)
	}
}

func TestAWorkloadThatIsAnotherThanMeantIsLeftAlone(t *testing.T) {
	b := newSuite(t)
	b.change("new")
	b.decide()
	b.record(b.after(time.Minute), Gone)
	b.workload(0).UID = "other"
	d := b.after(time.Hour)
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonTargetGone || len(d.Actions) > 0 || b.target(0).Pending != nil {
		t.Errorf("history %+v, target %+v, actions %+v", h, b.target(0), d.Actions)
	}
}

func TestAnOlderViewIsNoRevert(t *testing.T) {
	b := newSuite(t)
	b.start()
	b.workload(0).RestartID, b.workload(0).Generation = "", 1
	b.after(time.Second)
	if len(b.p.Status.InFlight) != 1 || b.p.Status.InFlight[0].Phase != autorebootv1.PhaseRollingOut {
		t.Errorf("%+v", b.p.Status)
	}
}

// retryOf lets the restart of the first target fail once more, right when its retry is due.
func retryOf(b *suite, wait time.Duration) {
	b.t.Helper()
	b.workload(0).Complete, b.workload(0).Available = true, true
	if d := b.after(wait - time.Second); len(d.Actions) > 0 {
		b.t.Fatalf("retried before %s", wait)
	}
	d := b.after(time.Second)
	if len(d.Actions) != 1 {
		b.t.Fatalf("not retried after %s: %s", wait, d.PendingMessage)
	}
	b.record(d, Done)
	b.timeOut()
}

func TestRetriesBackOffAndThenHaltOrGiveUp(t *testing.T) {
	for _, policy := range []common.FailurePolicy{common.FailureHalt, common.FailureContinue} {
		t.Run(string(policy), func(t *testing.T) {
			b := newSuite(t, "api", "web")
			b.p.Spec.Verification.OnFailure = &policy
			two := int32(2)
			b.p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: &two}
			b.o.Others.Disrupted = nil
			b.workload(1).Obstacle = autorebootv1.ReasonPaused
			b.start()
			b.timeOut()
			retryOf(b, 10*time.Minute)
			retryOf(b, 20*time.Minute)
			b.workload(1).Obstacle = ""
			d := b.after(time.Second)
			started := len(d.Actions) == 1 && d.Actions[0].Workload.Name == "web"
			halt := b.p.Status.Halt
			switch {
			case policy == common.FailureContinue && (halt != nil || !started || b.target(0).Pending != nil):
				t.Errorf("halt %+v, web started %t, api %+v", halt, started, b.target(0))
			case policy == common.FailureHalt && (halt == nil || halt.Reason != autorebootv1.ReasonVerificationFailed || started):
				t.Errorf("halt %+v, web started %t", halt, started)
			}
			if policy == common.FailureContinue {
				b.record(d, Done)
				b.workload(0).Complete, b.workload(0).Available = true, true
				b.after(time.Minute)
				b.after(time.Hour)
				b.workload(0).Signals[0].Fingerprint = "newer"
				if b.decide(); b.target(0).Pending == nil || b.target(0).Attempts != 0 {
					t.Errorf("a new change is no new chance: %+v", b.target(0))
				}
			}
		})
	}
}

// kubectl get shows the state: what needs attention must not hide behind Idle.
func TestTheStateIsWhatIsToBeKnownFirst(t *testing.T) {
	for policy, want := range map[common.FailurePolicy]string{
		common.FailureHalt: autorebootv1.ReasonHalted, common.FailureContinue: autorebootv1.ReasonFailed,
	} {
		b, none := newSuite(t), int32(0)
		b.p.Spec.Verification.OnFailure = &policy
		b.p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: &none}
		is := func(when string, want string) {
			t.Helper()
			if got := ProgressReason(&b.p.Status, false); got != want {
				t.Errorf("%s, %s: %s, want %s", policy, when, got, want)
			}
		}
		is("at first", autorebootv1.ReasonIdle)
		b.change("new")
		b.decide()
		is("debouncing", autorebootv1.ReasonWaiting)
		d := b.after(time.Minute)
		is("planned", string(autorebootv1.PhaseRollingOut))
		b.record(d, Done)
		is("begun", string(autorebootv1.PhaseRollingOut))
		b.timeOut()
		is("failed", want)
		b.after(24 * time.Hour)
		is("a day later", want)
	}
}

func TestAHumanEndsAHalt(t *testing.T) {
	for name, c := range map[string]struct {
		act   func(b *suite)
		clear bool
	}{
		"nothing":              {func(*suite) {}, false},
		"a change of the spec": {func(b *suite) { b.p.Generation++ }, true},
		"a retry":              {func(b *suite) { retry(b, "ann, 14:00") }, true},
		"a retry from before":  {func(b *suite) { retry(b, "before") }, false},
		"a retry from before that is removed and set again": {func(b *suite) {
			b.p.Annotations = nil
			b.decide()
			retry(b, "before")
		}, false},
		"no token": {func(b *suite) { retry(b, "a\n") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			retry(b, "before")
			b.start()
			b.workload(0).RestartID = "theirs"
			b.decide()
			c.act(b)
			b.advance(time.Millisecond)
			d := b.decide()
			if (b.p.Status.Halt == nil) != c.clear || (len(d.Actions) == 1) != c.clear {
				t.Errorf("halt %+v, actions %+v: %s", b.p.Status.Halt, d.Actions, d.PendingMessage)
			}
		})
	}
}

func retry(b *suite, token string) {
	b.p.Annotations = map[string]string{autorebootv1.RetryAnnotation: token}
}

// A value that ended a halt, or was set while there was none, ends no later one.
func TestARequestToRetryEndsOneHalt(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Cooldown = ptr.To(common.Duration("1s"))
	for _, token := range []string{"1", "2"} {
		b.start()
		b.workload(0).RestartID = "theirs"
		if b.after(time.Hour); b.p.Status.Halt == nil {
			t.Fatal("it does not halt")
		}
		retry(b, token)
		b.record(b.decide(), Done)
		if h := b.p.Status.Halt; h != nil || string(b.p.Status.HandledRetry) != token {
			t.Errorf("halt %+v, handled %s", h, b.p.Status.HandledRetry)
		}
		b.after(time.Hour)
		b.after(time.Hour)
	}
}

func TestTheLimitHaltsOnceARestartMoreIsDue(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Limit = &autorebootv1.Limit{MaxRestarts: 2, Within: "24h"}
	for range 2 {
		b.start()
		b.after(time.Second)
		b.after(2 * time.Minute)
		b.advance(time.Hour)
	}
	if b.p.Status.Halt != nil {
		t.Fatal("halted before another restart was due")
	}
	b.change("third")
	b.decide()
	b.after(time.Minute)
	if h := b.p.Status.Halt; h == nil || h.Reason != autorebootv1.ReasonLimitReached || b.messages[len(b.messages)-1] != "LimitReached" {
		t.Fatalf("halt %+v, told %v", h, b.messages)
	}
	b.p.Generation++
	if d := b.after(time.Second); len(d.Actions) != 1 {
		t.Errorf("restarts from before a retry count: %s", d.PendingMessage)
	}
}

func TestEvictionsKeepTheirDistanceAndTheirBudget(t *testing.T) {
	b := newSuite(t)
	half := intstr.FromString("50%")
	b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict, Evict: &autorebootv1.EvictStrategy{MaxUnavailable: &half}}
	w := b.workload(0)
	w.Desired = 4
	w.Pods = nil
	for _, name := range []string{"a", "b", "c", "d"} {
		w.Pods = append(w.Pods, Pod{Name: name, Created: noon().Add(-time.Hour), Ready: name != "c"})
	}
	b.change("new")
	b.decide()
	d := b.after(time.Minute)
	victims := func(d Decision) (names []string) {
		for _, a := range d.Actions {
			names = append(names, a.Pod.Name)
		}
		slices.Sort(names)
		return names
	}
	if diff := cmp.Diff([]string{"a", "c"}, victims(d)); diff != "" {
		t.Fatalf("the first two, and those first that serve no traffic (-want +got):\n%s", diff)
	}
	b.record(d, Blocked)
	blocked := b.p.Status.InFlight[0].BlockedTime
	if d := b.after(time.Minute); len(d.Actions) != 2 || !blocked.Time.Equal(noon().Add(time.Minute)) {
		t.Fatalf("blocked since %v, then %+v", blocked, d.Actions)
	}
	w.Pods[0].Terminating = true
	w.Pods = append(w.Pods, Pod{Name: "e", Created: b.o.Now, Ready: false})
	d = b.decide()
	if diff := cmp.Diff([]string{"c"}, victims(d)); diff != "" {
		t.Errorf("one place is empty (-want +got):\n%s", diff)
	}
	b.record(d, Done)
	if b.p.Status.InFlight[0].BlockedTime != nil {
		t.Error("blocked, though an eviction went through")
	}
	b.record(d, Blocked)
	b.after(10 * time.Minute)
	if h := b.p.Status.History; len(h) != 1 || h[0].Reason != autorebootv1.ReasonEvictionBlocked {
		t.Errorf("history: %+v", h)
	}
}

func TestTwoBudgetsForAPodHaltThePolicy(t *testing.T) {
	b := newSuite(t)
	b.p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
	b.change("new")
	b.decide()
	b.record(b.after(time.Minute), Misconfigured)
	if h := b.p.Status.Halt; h == nil || h.Reason != autorebootv1.ReasonVerificationFailed || b.p.Status.History[0].Reason != autorebootv1.ReasonEvictionMisconfigured {
		t.Errorf("halt %+v, history %+v", h, b.p.Status.History)
	}
}

func TestAWorkloadThatIsMadeAgainHasNotFailed(t *testing.T) {
	for name, failed := range map[string]bool{"after it failed": true, "in flight": false} {
		t.Run(name, func(t *testing.T) {
			onFailure := common.FailureContinue
			b := newSuite(t)
			b.p.Spec.Verification.OnFailure = &onFailure
			b.p.Spec.Retry = &autorebootv1.Retry{MaxAttempts: new(int32)}
			b.start()
			if failed {
				if b.timeOut(); ProgressReason(&b.p.Status, false) != autorebootv1.ReasonFailed {
					t.Fatal(ProgressReason(&b.p.Status, false))
				}
			}
			w := b.workload(0)
			w.UID, w.RestartID, w.Complete, w.Available = "another", "", true, true
			if b.after(time.Second); ProgressReason(&b.p.Status, false) != autorebootv1.ReasonIdle || b.p.Status.History[0].Result != autorebootv1.ResultFailed {
				t.Errorf("%s: %+v", ProgressReason(&b.p.Status, false), b.p.Status.History)
			}
		})
	}
}
