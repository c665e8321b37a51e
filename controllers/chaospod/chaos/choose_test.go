// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestWhatHoldsARun(t *testing.T) {
	window := []common.Window{{Name: "afternoon", Cron: "0 15 * * *", Duration: "1h"}}
	for name, c := range map[string]struct {
		put   func(b *suite)
		wants string
		until string // part of the message
	}{
		"window":             {func(b *suite) { b.edit(func(s *chaosv1.ChaosPodSpec) { s.Windows = window }) }, "OutsideWindow", "no window is open until 2026-03-02T15:00:00Z, when afternoon opens"},
		"blackout":           {func(b *suite) { b.blackout("0 11 * * *", "2h") }, "Blackout", "blackout release lasts until 2026-03-02T13:00:00Z"},
		"suspicion":          {func(b *suite) { b.o.Suspect = true }, "ProbesInconclusive", "operator"},
		"a restart":          {func(b *suite) { b.o.Others.Disrupted = map[types.UID]bool{"uid-api": true} }, "RestartInProgress", "api"},
		"the cluster's cap":  {func(b *suite) { b.o.Others.Free = 0 }, "ConcurrencyLimit", ""},
		"a fault":            {func(b *suite) { b.o.Owners[0].Fault = "a fault is injected into ExternalService db" }, "FaultInjected", "ExternalService db"},
		"a rollout":          {func(b *suite) { b.o.Owners[0].Unstable = "rolls out" }, "Unstable", "Deployment api rolls out"},
		"too few":            {func(b *suite) { b.o.Owners[0].Desired = 7 }, "TooFewReady", "4 of 7 pods ready, and 4 must stay ready"},
		"an unknown owner":   {func(b *suite) { b.o.Owners[0].Unknown = "timed out" }, "Unknown", "timed out"},
		"an unknown target":  {func(b *suite) { b.o.Unknown = "timed out" }, "Unknown", "timed out"},
		"no target":          {func(b *suite) { b.o.Owners, b.o.Missing = nil, "Deployment api does not exist" }, "NoTarget", "does not exist"},
		"the day's limit":    {func(b *suite) { b.p.Status.KilledDay, b.p.Status.KilledToday = "2026-03-02", 8 }, "DailyLimit", "8 pods killed"},
		"young pods":         {func(b *suite) { each(b, func(p *Pod) { p.Created = b.o.Now.Add(5 * time.Minute) }) }, "NoCandidate", "younger than filter.minAge (10m)"},
		"pods not available": {func(b *suite) { b.o.Owners[0].MinReady = 2 * time.Hour }, "NoCandidate", "ready for less than minReadySeconds"},
		"cordoned nodes":     {func(b *suite) { each(b, func(p *Pod) { p.Cordoned = True }) }, "NoCandidate", "on a cordoned or draining node"},
		"protected pods":     {func(b *suite) { each(b, func(p *Pod) { p.Protected = True }) }, "NoCandidate", "protected"},
		"other pods":         {func(b *suite) { each(b, func(p *Pod) { p.Selected = false }) }, "NoCandidate", "not selected by the target"},
		"pods not running":   {func(b *suite) { each(b, func(p *Pod) { p.Running = false }) }, "NoCandidate", "not ready"},
		"dying pods":         {func(b *suite) { each(b, func(p *Pod) { p.Terminating = true }) }, "TooFewReady", "0 of 4"},
		"an exclusion": {func(b *suite) {
			b.edit(func(s *chaosv1.ChaosPodSpec) {
				s.Filter = &chaosv1.Filter{Exclude: &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"chaos": "off"}}}
			})
			each(b, func(p *Pod) { p.Labels = map[string]string{"chaos": "off"} })
		}, "NoCandidate", "no eligible pod in Deployment api: 4 pods excluded by filter.exclude"},
		"no budget": {func(b *suite) {
			b.edit(func(s *chaosv1.ChaosPodSpec) { s.Safety = &chaosv1.Safety{RequireDisruptionBudget: ptr.To(true)} })
			each(b, func(p *Pod) { p.Covered = False })
		}, "NoCandidate", "without a PodDisruptionBudget"},
	} {
		for _, asked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				b := newSuite(t)
				c.put(b)
				b.decide()
				wait := 10 * time.Minute
				if asked {
					wait = time.Minute
					b.p.Annotations = map[string]string{chaosv1.RunNowAnnotation: "1"}
				}
				d := b.after(wait)
				if len(d.Actions) > 0 || d.Status.CurrentRun != nil {
					t.Fatalf("it begins: %+v", d.Status.CurrentRun)
				}
				b.expectCondition(chaosv1.ConditionWaiting, "True/"+c.wants)
				for _, condition := range b.p.Status.Conditions {
					if condition.Type == chaosv1.ConditionWaiting && !strings.Contains(condition.Message, c.until) {
						t.Errorf("%q lacks %q", condition.Message, c.until)
					}
				}
				if !slices.Contains(b.notices, "ChaosWaiting") || b.p.Status.HandledRunNow != "" {
					t.Errorf("told %v, token %q", b.notices, b.p.Status.HandledRunNow)
				}
				if d.WaitsForOthers != (c.wants == "RestartInProgress" || c.wants == "ConcurrencyLimit") {
					t.Errorf("waits %t", d.WaitsForOthers)
				}
			})
		}
	}
}

func each(b *suite, change func(*Pod)) {
	for i := range b.o.Owners {
		for j := range b.o.Owners[i].Pods {
			change(&b.o.Owners[i].Pods[j])
		}
	}
}
