// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestTheExpectedEndFollowsSlotsWavesAndEarlierRestarts(t *testing.T) {
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(after)} }
	took := func(name string, end, span time.Duration, result string) v1.RestartRecord {
		return v1.RestartRecord{
			Target: common.WorkloadReference{Kind: common.WorkloadDeployment, Name: name},
			Record: common.Record{Result: result, StartTime: at(end - span), CompletionTime: at(end)},
		}
	}
	// The restart of web took 50 s, including a soak of 30 s. Workloads without a record are expected to take as long.
	history := []v1.RestartRecord{
		took("web", -time.Hour, 50*time.Second, v1.ResultSucceeded),
		took("web", -2*time.Hour, 500*time.Second, v1.ResultSucceeded),
		took("api", -3*time.Hour, 900*time.Second, v1.ResultFailed),
	}
	due := func(n int) (all []Due) {
		for i := range n {
			all = append(all, Due{Kind: common.WorkloadDeployment, Name: fmt.Sprint("web-", i)})
		}
		return all
	}
	for name, test := range map[string]struct {
		slots    intstr.IntOrString
		history  []v1.RestartRecord
		due      []Due
		inFlight []v1.InFlightRestart
		want     time.Duration // 0 for not known
	}{
		"one":                                    {slots: intstr.FromInt32(1), history: history, due: due(1), want: 50 * time.Second},
		"the soak goes on beside the next start": {slots: intstr.FromInt32(1), history: history, due: due(6), want: 150 * time.Second},
		"two at once":                            {slots: intstr.FromInt32(2), history: history, due: due(6), want: 90 * time.Second},
		"a percentage of ten":                    {slots: intstr.FromString("30%"), history: history, due: due(6), want: 70 * time.Second},
		"a percentage below one":                 {slots: intstr.FromString("1%"), history: history, due: due(2), want: 70 * time.Second},
		"a higher wave starts once the lower has ended": {slots: intstr.FromInt32(2), history: history, want: 100 * time.Second,
			due: []Due{{Name: "b", Wave: 1}, {Name: "a"}}},
		"after a blackout": {slots: intstr.FromInt32(1), history: history, want: 10*time.Minute + 50*time.Second,
			due: []Due{{Name: "a", NotBefore: now.Add(10 * time.Minute)}}},
		"one in flight takes its slot": {slots: intstr.FromInt32(1), history: history, due: due(1), want: 65 * time.Second,
			inFlight: []v1.InFlightRestart{{Name: "x", Phase: v1.PhaseRollingOut, StartTime: at(-5 * time.Second)}}},
		"one in flight takes longer than before": {slots: intstr.FromInt32(1), history: history, want: time.Nanosecond,
			inFlight: []v1.InFlightRestart{{Name: "x", Phase: v1.PhaseRollingOut, StartTime: at(-time.Hour)}}},
		"no restart was verified": {slots: intstr.FromInt32(1), history: history[2:], due: due(1)},
		"nothing to do":           {slots: intstr.FromInt32(1), history: history},
		"nothing starts":          {slots: intstr.FromInt32(0), history: history, due: due(1)},
	} {
		policy := &v1.RebootPolicy{
			Spec: v1.RebootPolicySpec{
				Concurrency:  &v1.Concurrency{MaxTargets: &test.slots},
				Verification: &v1.Verification{Verification: common.Verification{Soak: ptr.To(common.Duration("30s"))}},
			},
			Status: v1.RebootPolicyStatus{History: test.history, InFlight: test.inFlight, WatchedTargets: ptr.To[int32](10)},
		}
		end, is := ExpectedEnd(policy, test.due, now)
		if is != (test.want > 0) || is && end.Sub(now) != test.want.Truncate(time.Second) {
			t.Errorf("%s: it is expected to end after %s (%t), want %s", name, end.Sub(now), is, test.want)
		}
	}
}

func TestStatusSaysWhenTheLastRestartIsExpectedToEnd(t *testing.T) {
	now := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	policy := &v1.RebootPolicy{Status: v1.RebootPolicyStatus{
		History: []v1.RestartRecord{{Record: common.Record{
			Result: v1.ResultSucceeded, StartTime: &metav1.Time{Time: now.Add(-time.Hour)}, CompletionTime: &metav1.Time{Time: now.Add(-time.Hour + time.Minute)},
		}}},
		InFlight: []v1.InFlightRestart{{Name: "a", Phase: v1.PhaseRollingOut, StartTime: &metav1.Time{Time: now}}},
	}}
	for _, name := range []string{"b", "c"} {
		policy.Status.Targets = append(policy.Status.Targets, v1.TargetStatus{Name: name, Pending: &v1.PendingRestart{Reason: v1.ReasonConcurrencyLimit}})
	}
	if said, want := restartsToGo(policy, now), "; 3 restarts to go, the last expected to end by 2026-03-01T20:03:00Z"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
	policy.Status.Targets[1].Pending.Reason = v1.ReasonApprovalRequired
	if said := restartsToGo(policy, now); strings.Contains(said, "expected") {
		t.Errorf("one waits for a person: %q", said)
	}
}
