// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/conditions"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

func newObservation() *observation {
	policy := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments", Generation: 4}}
	rules.Default(policy)
	return &observation{stored: policy, policy: policy, now: epoch, calendar: restart.Calendar{Window: true}}
}

func waits(name, reason string, since time.Time) autorebootv1.TargetStatus {
	return autorebootv1.TargetStatus{Kind: common.WorkloadDeployment, Name: name, Pending: &autorebootv1.PendingRestart{
		FirstRequestTime: metav1.NewTime(since), LastRequestTime: metav1.NewTime(since), Reason: reason,
	}}
}

func conditionOf(status *autorebootv1.RebootPolicyStatus, kind string) string {
	c := meta.FindStatusCondition(status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

func TestARestartThatWaitsNeverMakesReadyFalse(t *testing.T) {
	status := &autorebootv1.RebootPolicyStatus{Targets: []autorebootv1.TargetStatus{
		waits("web", autorebootv1.ReasonCooldown, epoch.Add(-time.Minute)), waits("api", autorebootv1.ReasonOutsideWindow, epoch.Add(-time.Hour)),
	}}
	got := newObservation().withConditions(status, "Deployment api: the next window opens at 22:00 CET", nil)
	if ready := conditionOf(got, autorebootv1.ConditionReady); !strings.HasPrefix(ready, "True Watching") {
		t.Errorf("Ready %s", ready)
	}
	want := "True OutsideWindow: Deployment api: the next window opens at 22:00 CET (and 1 more workload waits)"
	if pending := conditionOf(got, autorebootv1.ConditionWaiting); pending != want {
		t.Errorf("Waiting %s", pending)
	}
	for kind, want := range map[string]string{
		autorebootv1.ConditionStalled: "", autorebootv1.ConditionProgressing: "False Waiting: ", autorebootv1.ConditionSuspended: "False NotSuspended: ",
		autorebootv1.ConditionVerified: "Unknown NoRestart: ", autorebootv1.ConditionDisruptionBudgetBlocks: "False NotEvicting: ",
	} {
		if c := conditionOf(got, kind); !strings.HasPrefix(c, want) || want == "" && c != "" {
			t.Errorf("%s %s, want %s", kind, c, want)
		}
	}
	if got.NextAllowedTime != nil {
		t.Errorf("next %v", got.NextAllowedTime)
	}
}

func TestConditionsThatAreOverAreFalseAndOthersKeepTheirTime(t *testing.T) {
	s := newObservation()
	first := s.withConditions(&autorebootv1.RebootPolicyStatus{
		Targets:  []autorebootv1.TargetStatus{waits("api", autorebootv1.ReasonCooldown, epoch)},
		InFlight: []autorebootv1.InFlightRestart{{ID: "1", Kind: common.WorkloadDeployment, Name: "web", Phase: autorebootv1.PhaseSoaking, Triggers: []string{"config"}}},
	}, "Deployment api waits", nil)
	if got := conditionOf(first, autorebootv1.ConditionProgressing); got != "True Soaking: Deployment web: is available again, and must stay so for the soak (config)" {
		t.Errorf("Progressing %s", got)
	}
	s.now = epoch.Add(time.Hour)
	first.Targets, first.InFlight = nil, nil
	second := s.withConditions(first, "", nil)
	for kind, want := range map[string]string{
		autorebootv1.ConditionWaiting: "False NothingPending: nothing waits", autorebootv1.ConditionProgressing: "False Idle: no restart is in flight",
	} {
		if got := conditionOf(second, kind); got != want {
			t.Errorf("%s %s", kind, got)
		}
	}
	if at := meta.FindStatusCondition(second.Conditions, autorebootv1.ConditionReady).LastTransitionTime; !at.Time.Equal(epoch) {
		t.Errorf("Ready since %s", at)
	}
}

func TestTheVerdictIsThatOnTheLatestRestartThatWasDone(t *testing.T) {
	ended := func(id, result, reason string) restart.Message {
		return restart.Message{Ended: &autorebootv1.RestartRecord{Record: common.Record{ID: id, Result: result, Reason: reason}, Target: common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "api"}}}
	}
	s := newObservation()
	failed := s.withConditions(&autorebootv1.RebootPolicyStatus{}, "", []restart.Message{
		{Reason: "RestartWaiting"}, ended("x-1", autorebootv1.ResultFailed, autorebootv1.ReasonTimedOut), ended("x-2", autorebootv1.ResultSuperseded, autorebootv1.ReasonNewerPods),
	})
	if got := conditionOf(failed, autorebootv1.ConditionVerified); got != "False TimedOut: restart x-1 of Deployment api failed" {
		t.Errorf("Verified %s", got)
	}
	if got := conditionOf(s.withConditions(failed, "", nil), autorebootv1.ConditionVerified); !strings.HasPrefix(got, "False TimedOut") {
		t.Errorf("later: Verified %s", got)
	}
	again := s.withConditions(failed, "", []restart.Message{ended("x-3", autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable)})
	if got := conditionOf(again, autorebootv1.ConditionVerified); got != "True StayedAvailable: restart x-3 of Deployment api succeeded" {
		t.Errorf("Verified %s", got)
	}
}

func TestAHaltSaysWhatToDo(t *testing.T) {
	for reason, says := range map[string]string{
		autorebootv1.ReasonLimitReached:       "limit.maxRestarts is reached",
		autorebootv1.ReasonTargetReverted:     "use the strategy Evict",
		autorebootv1.ReasonVerificationFailed: "restart x-1 failed",
	} {
		got := conditionOf(newObservation().withConditions(&autorebootv1.RebootPolicyStatus{Halt: &autorebootv1.Halt{
			Halt: common.Halt{Reason: reason, RecordID: "x-1"}, Target: common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "api"},
		}}, "", nil), autorebootv1.ConditionStalled)
		if !strings.HasPrefix(got, "True "+reason) || !strings.Contains(got, says) || !strings.Contains(got, autorebootv1.RetryAnnotation) {
			t.Errorf("Stalled %s", got)
		}
	}
}

func TestTheGravestNoteGivesReadyItsReason(t *testing.T) {
	s := newObservation()
	s.addProblem(autorebootv1.ReasonSourceNotFound, "trigger a: Secret x does not exist")
	s.addProblem(autorebootv1.ReasonForbidden, "trigger a: Secret y may not be read by the operator")
	s.addProblem(autorebootv1.ReasonForbidden, "trigger a: Secret y may not be read by the operator")
	if got := conditionOf(s.withConditions(&autorebootv1.RebootPolicyStatus{}, "", nil), autorebootv1.ConditionReady); got != "False Forbidden: trigger a: Secret y may not be read by the operator" {
		t.Errorf("Ready %s", got)
	}
}

func TestWhatOnlyAPersonCanFixIsStalled(t *testing.T) {
	for reason, stalled := range map[string]bool{
		autorebootv1.ReasonForbidden: true, autorebootv1.ReasonTooManyTargets: true,
		autorebootv1.ReasonTargetNotFound: false, autorebootv1.ReasonSourceNotFound: false,
	} {
		s := newObservation()
		before := s.withConditions(&autorebootv1.RebootPolicyStatus{}, "", nil)
		s.addProblem(reason, "so it is")
		during := s.withConditions(before, "", nil)
		want := ""
		if stalled {
			want = "True " + reason + ": so it is"
		}
		if got := conditionOf(during, autorebootv1.ConditionStalled); got != want {
			t.Errorf("%s: Stalled %q, want %q", reason, got, want)
		}
		if got := conditionOf(newObservation().withConditions(during, "", nil), autorebootv1.ConditionStalled); got != "" {
			t.Errorf("%s: Stalled %q although it is fixed", reason, got)
		}
	}
}

func TestNextAllowedTimeIsThereWhileNothingMayStart(t *testing.T) {
	opens := epoch.Add(8 * time.Hour)
	for name, test := range map[string]struct {
		calendar restart.Calendar
		want     time.Time
	}{
		"open":     {restart.Calendar{Window: true, NextOpen: epoch}, time.Time{}},
		"closed":   {restart.Calendar{NextOpen: opens}, opens},
		"blackout": {restart.Calendar{Window: true, Blackout: "release", NextOpen: opens}, opens},
		"never":    {restart.Calendar{}, time.Time{}},
		"broken":   {restart.Calendar{Broken: true}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newObservation()
			s.calendar = test.calendar
			got := s.nextAllowed()
			if (got == nil) != test.want.IsZero() || got != nil && !got.Time.Equal(test.want) {
				t.Errorf("next allowed %v, want %s", got, test.want)
			}
		})
	}
}

func TestMessagesAreCutWithinACharacter(t *testing.T) {
	o := newObservation()
	o.addProblem(autorebootv1.ReasonTargetNotFound, strings.Repeat("é", conditions.MaxMessage))
	status := o.withConditions(&autorebootv1.RebootPolicyStatus{}, "", nil)
	got := meta.FindStatusCondition(status.Conditions, autorebootv1.ConditionReady).Message
	if len(got) > conditions.MaxMessage || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes, ends with %q", len(got), got[len(got)-8:])
	}
}

func TestReadySaysThatNoRestartEverStarts(t *testing.T) {
	for name, test := range map[string]struct {
		calendar restart.Calendar
		never    bool
	}{
		"open":                       {restart.Calendar{Window: true, NextOpen: epoch}, false},
		"closed":                     {restart.Calendar{NextOpen: epoch.Add(time.Hour)}, false},
		"windows that are blackouts": {restart.Calendar{BlackoutEnds: epoch}, true},
		"a blackout without an end":  {restart.Calendar{Window: true, Blackout: "release"}, true},
		"cannot be read":             {restart.Calendar{Broken: true}, false},
	} {
		s := newObservation()
		s.calendar = test.calendar
		got := s.withConditions(&autorebootv1.RebootPolicyStatus{}, "", nil)
		if ready := conditionOf(got, autorebootv1.ConditionReady); strings.Contains(ready, "no restart ever starts") != test.never {
			t.Errorf("%s: Ready %s", name, ready)
		}
	}
}
