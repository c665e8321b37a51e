// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

const token = common.Token("t2")

var (
	noon = metav1.NewTime(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	now  = []string{autorebootv1.RestartNowTrigger}
)

func policy(s autorebootv1.RebootPolicyStatus) client.Object {
	s.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}}
	return &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api"}, Status: s}
}

func chaosPod(s chaosv1.ChaosPodStatus) client.Object {
	s.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}}
	return &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api"}, Status: s}
}

func external(s networkingv1.ExternalServiceStatus) client.Object {
	s.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}, {Type: "FailedOver", Status: "True"}}
	return &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api"}, Status: s}
}

func restartRecord(id, result string, triggers ...string) autorebootv1.RestartRecord {
	return autorebootv1.RestartRecord{Record: common.Record{ID: id, Result: result, Reason: "TimedOut"}, Triggers: triggers,
		Target: common.WorkloadReference{Kind: "Deployment", Name: "api"}}
}

// waitsFor is the status of a policy one of whose restarts waits for an approval.
func waitsFor(uid types.UID, id common.Token) autorebootv1.RebootPolicyStatus {
	return autorebootv1.RebootPolicyStatus{PendingApproval: id, Targets: []autorebootv1.TargetStatus{{
		Kind: "Deployment", Name: "api", UID: uid,
		Pending: &autorebootv1.PendingRestart{Triggers: []string{"config"}, Reason: autorebootv1.ReasonApprovalRequired},
	}}}
}

func handled(s autorebootv1.RebootPolicyStatus) autorebootv1.RebootPolicyStatus {
	s.HandledApprove = token
	return s
}

func TestAVerdictIsWhatTheStatusSaysOfThisRequest(t *testing.T) {
	none := policy(autorebootv1.RebootPolicyStatus{})
	old := policy(autorebootv1.RebootPolicyStatus{History: []autorebootv1.RestartRecord{restartRecord("1", autorebootv1.ResultFailed, now...)}})
	halt := &autorebootv1.Halt{Halt: common.Halt{Reason: "VerificationFailed", Message: "no"}}
	run := func(id, result string) []chaosv1.Run {
		return []chaosv1.Run{{Record: common.Record{ID: id, Result: result}}}
	}
	failback := func(result string) []networkingv1.ChangeRecord {
		return []networkingv1.ChangeRecord{{Record: common.Record{ID: "1", Result: result}, Type: networkingv1.ChangeFailback}}
	}
	fault := func(outcome string, ready metav1.ConditionStatus) *networkingv1.FaultStatus {
		return &networkingv1.FaultStatus{Request: token, StartTime: &noon, CompletionTime: &noon, Outcome: outcome, DependantsStayedReady: ready}
	}
	for name, test := range map[string]struct {
		verb        string
		before, now client.Object
		want        string // "pending", "done" or "failed", and a part of the text
	}{
		"a restart that is not handled":      {inspect.VerbRestart, none, policy(autorebootv1.RebootPolicyStatus{HandledRestartNow: "t1", VerifiedRestartNow: "t1"}), "pending not handled"},
		"a restart that waits to begin":      {inspect.VerbRestart, none, policy(autorebootv1.RebootPolicyStatus{Targets: []autorebootv1.TargetStatus{{Pending: &autorebootv1.PendingRestart{Triggers: now}}}}), "pending begun yet"},
		"a restart in flight":                {inspect.VerbRestart, none, policy(autorebootv1.RebootPolicyStatus{HandledRestartNow: token, InFlight: []autorebootv1.InFlightRestart{{Triggers: now}}}), "pending in flight"},
		"a restart that is verified":         {inspect.VerbRestart, none, policy(autorebootv1.RebootPolicyStatus{HandledRestartNow: token, VerifiedRestartNow: token}), "done verified"},
		"a restart that has failed":          {inspect.VerbRestart, none, policy(autorebootv1.RebootPolicyStatus{HandledRestartNow: token, History: []autorebootv1.RestartRecord{restartRecord("1", autorebootv1.ResultFailed, now...)}}), "failed TimedOut"},
		"a restart that had failed before":   {inspect.VerbRestart, old, policy(autorebootv1.RebootPolicyStatus{HandledRestartNow: token, History: []autorebootv1.RestartRecord{restartRecord("1", autorebootv1.ResultFailed, now...)}}), "pending begun"},
		"another restart that has failed":    {inspect.VerbRestart, none, policy(autorebootv1.RebootPolicyStatus{HandledRestartNow: token, History: []autorebootv1.RestartRecord{restartRecord("1", autorebootv1.ResultFailed, "config")}}), "pending begun"},
		"a restart that halts the policy":    {inspect.VerbRestart, none, policy(autorebootv1.RebootPolicyStatus{HandledRestartNow: token, Halt: halt}), "failed VerificationFailed"},
		"a halt that lasts":                  {inspect.VerbRetry, none, policy(autorebootv1.RebootPolicyStatus{Halt: halt}), "pending not handled"},
		"a halt that has ended":              {inspect.VerbRetry, none, policy(autorebootv1.RebootPolicyStatus{HandledRetry: token}), "done ended"},
		"a halt that follows":                {inspect.VerbRetry, none, policy(autorebootv1.RebootPolicyStatus{HandledRetry: token, Halt: halt}), "failed again"},
		"an approval that is not handled":    {inspect.VerbApprove, policy(waitsFor("1", token)), policy(waitsFor("1", token)), "pending not handled"},
		"an approval":                        {inspect.VerbApprove, policy(waitsFor("1", token)), policy(autorebootv1.RebootPolicyStatus{HandledApprove: token}), "done approved"},
		"an approval of what has changed":    {inspect.VerbApprove, policy(waitsFor("1", token)), policy(handled(waitsFor("1", "t3"))), "failed t3 for Deployment api"},
		"an approval beside another restart": {inspect.VerbApprove, policy(waitsFor("1", token)), policy(handled(waitsFor("2", "t3"))), "done approved"},
		"a run that waits":                   {inspect.VerbRun, chaosPod(chaosv1.ChaosPodStatus{}), chaosPod(chaosv1.ChaosPodStatus{}), "pending not begun"},
		"a run that a halt holds":            {inspect.VerbRun, chaosPod(chaosv1.ChaosPodStatus{}), chaosPod(chaosv1.ChaosPodStatus{Halt: &common.Halt{Reason: "RecoveryFailed"}}), "failed halted"},
		"a run under way":                    {inspect.VerbRun, chaosPod(chaosv1.ChaosPodStatus{}), chaosPod(chaosv1.ChaosPodStatus{HandledRunNow: token, CurrentRun: &chaosv1.CurrentRun{Phase: "Killing"}}), "pending Killing"},
		"a run that was survived":            {inspect.VerbRun, chaosPod(chaosv1.ChaosPodStatus{}), chaosPod(chaosv1.ChaosPodStatus{HandledRunNow: token, History: run("1", chaosv1.ResultSurvived)}), "done Survived"},
		"a run that was not survived":        {inspect.VerbRun, chaosPod(chaosv1.ChaosPodStatus{}), chaosPod(chaosv1.ChaosPodStatus{HandledRunNow: token, History: run("1", chaosv1.ResultRecoveryFailed)}), "failed RecoveryFailed"},
		"a run that killed nothing":          {inspect.VerbRun, chaosPod(chaosv1.ChaosPodStatus{}), chaosPod(chaosv1.ChaosPodStatus{HandledRunNow: token, History: run("1", chaosv1.ResultNoVictim)}), "failed NoVictim"},
		"a dry run":                          {inspect.VerbRun, chaosPod(chaosv1.ChaosPodStatus{}), chaosPod(chaosv1.ChaosPodStatus{HandledRunNow: token, History: run("1", chaosv1.ResultDryRun)}), "done DryRun"},
		"an earlier run":                     {inspect.VerbRun, chaosPod(chaosv1.ChaosPodStatus{History: run("1", chaosv1.ResultSurvived)}), chaosPod(chaosv1.ChaosPodStatus{HandledRunNow: token, History: run("1", chaosv1.ResultSurvived)}), "pending begun"},
		"a failback that is not handled":     {inspect.VerbFailback, external(networkingv1.ExternalServiceStatus{}), external(networkingv1.ExternalServiceStatus{}), "pending not handled"},
		"a failback":                         {inspect.VerbFailback, external(networkingv1.ExternalServiceStatus{}), external(networkingv1.ExternalServiceStatus{HandledFailbackNow: token, History: failback("Succeeded")}), "done Succeeded"},
		"a failback that is refused":         {inspect.VerbFailback, external(networkingv1.ExternalServiceStatus{}), external(networkingv1.ExternalServiceStatus{HandledFailbackNow: token, History: failback("Refused")}), "failed Refused"},
		"an earlier failback":                {inspect.VerbFailback, external(networkingv1.ExternalServiceStatus{History: failback("Refused")}), external(networkingv1.ExternalServiceStatus{HandledFailbackNow: token, History: failback("Refused")}), "pending handled"},
		"another fault":                      {inspect.VerbFault, external(networkingv1.ExternalServiceStatus{}), external(networkingv1.ExternalServiceStatus{Fault: &networkingv1.FaultStatus{Request: "t1"}}), "pending not begun"},
		"a fault that lasts":                 {inspect.VerbFault, external(networkingv1.ExternalServiceStatus{}), external(networkingv1.ExternalServiceStatus{Fault: &networkingv1.FaultStatus{Request: token, StartTime: &noon}}), "pending lasts"},
		"a fault that all stayed ready in":   {inspect.VerbFault, external(networkingv1.ExternalServiceStatus{}), external(networkingv1.ExternalServiceStatus{Fault: fault("DeadlineReached", "True")}), "done DeadlineReached"},
		"a fault that one became unready in": {inspect.VerbFault, external(networkingv1.ExternalServiceStatus{}), external(networkingv1.ExternalServiceStatus{Fault: fault("DeadlineReached", "False")}), "failed DeadlineReached"},
		"a fault that is refused":            {inspect.VerbFault, external(networkingv1.ExternalServiceStatus{}), external(networkingv1.ExternalServiceStatus{Fault: fault("Refused", "")}), "failed Refused"},
	} {
		kind := map[bool]string{true: inspect.RebootPolicy, false: inspect.ExternalService}[slices.Contains([]string{inspect.VerbRestart, inspect.VerbRetry, inspect.VerbApprove}, test.verb)]
		if test.verb == inspect.VerbRun {
			kind = inspect.ChaosPod
		}
		v := verbs[test.verb][kind].verdict(test.before, test.now, token)
		got := "pending"
		if v.Done && v.Failed {
			got = "failed"
		} else if v.Done {
			got = "done"
		}
		state, part, _ := strings.Cut(test.want, " ")
		if got != state || !strings.Contains(v.Text, part) {
			t.Errorf("%s: %s, %q, want %q", name, got, v.Text, test.want)
		}
	}
}

func TestEachVerbHasAnAnnotation(t *testing.T) {
	for name, of := range verbs {
		for kind := range of {
			if r, err := New(name, inspect.Key{Kind: kind}, noon.Time); err != nil || r.Annotation == "" || r.verb.token == nil && !r.Token.IsValid() {
				t.Errorf("%s of %s: %v", name, kind, err)
			}
		}
	}
	if _, err := New(inspect.VerbRun, inspect.Key{Kind: inspect.RebootPolicy}, noon.Time); err == nil || !strings.Contains(err.Error(), "chaospod/NAME") {
		t.Error(err)
	}
}
