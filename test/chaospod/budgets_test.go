// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAWriterIsWarnedOfABudgetThatAllowsNoEviction(t *testing.T) {
	s := newSuite(t)
	s.run("web", 2, "")
	s.budget("never", "web", 2, 0)
	tries := 0
	warned := func(words, spec string) {
		s.Helper()
		s.Eventually(func() error { // replicas learn of the workload a moment later
			tries++
			_, told, err := s.Try(s.manifest(fmt.Sprint("c-", tries), "suspend: true, "+spec+", "+someday), "apply", "-f", "-")
			s.Must(err)
			if strings.Contains(told, "PodDisruptionBudget") != (words != "") || !strings.Contains(told, words) {
				return fmt.Errorf("told %q, want %q", told, words)
			}
			return nil
		})
	}
	const why = " of Deployment web: PodDisruptionBudget never never allows it (minAvailable: 2 of 2)"
	warned("spec.action.type: Evict kills no pod"+why, "dryRun: false, "+web)
	warned("spec.action.type: Evict kills no pod"+why, "dryRun: false, target: {selector: {matchLabels: {app: web}}}")
	warned("spec.action.type: Evict finds, as a dry run, that it could kill no pod"+why, web)
	warned("", "dryRun: false, action: {type: Delete}, "+web)
	s.Merge("policy/v1", "PodDisruptionBudget", "never", "{spec: {minAvailable: 1}}")
	warned("", "dryRun: false, "+web)
}

func TestAPolicyThatEvictsTellsOfTheBudgetThatRefusedChaos(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.budget("web", "web", 3, 0)
	s.Make(`{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: p}, spec: {targets: [{kind: Deployment, name: web}],
		triggers: [{name: yearly, type: Schedule, schedule: {cron: "0 0 29 2 *"}}], strategy: {type: Evict}}}`)
	tells := func(words string) {
		s.Helper()
		s.Eventually(func() error {
			var p autorebootv1.RebootPolicy
			if err := s.Get("p", &p); err != nil {
				return err
			}
			c := meta.FindStatusCondition(p.Status.Conditions, autorebootv1.ConditionDisruptionBudgetBlocks)
			switch {
			case !meta.IsStatusConditionTrue(p.Status.Conditions, autorebootv1.ConditionReady), meta.FindStatusCondition(p.Status.Conditions, autorebootv1.ConditionStalled) != nil:
				return fmt.Errorf("want it ready and not stalled:\n%s", framework.Text(p.Status))
			case words == "" && (c == nil || c.Reason != autorebootv1.ReasonNotObserved),
				words != "" && (c == nil || c.Reason != autorebootv1.ReasonNoDisruptionsAllowed || !strings.Contains(c.Message, words)):
				return fmt.Errorf("want %q:\n%s", words, framework.Text(p.Status))
			}
			return nil
		})
	}
	tells("")
	s.chaos("c", "dryRun: false, "+web+", "+someday)
	s.now("c", "1")
	if run := s.ended("c", 1, chaosv1.ResultNoVictim); !strings.Contains(run.Message, "(SkippedDisruptionBudget: web)") {
		t.Errorf("%+v", run)
	}
	tells("Deployment web: PodDisruptionBudget web let ChaosPod c evict no pod although 3 pods were ready")
	// The budget allows one, and the next run finds that out.
	s.Merge("policy/v1", "PodDisruptionBudget", "web", "{spec: {minAvailable: 2}}")
	s.allows("web", 1)
	s.now("c", "2")
	s.ended("c", 2, chaosv1.ResultSurvived)
	tells("")
	// A dry run asks the same question.
	s.Merge("policy/v1", "PodDisruptionBudget", "web", "{spec: {minAvailable: 3}}")
	s.allows("web", 0)
	s.chaos("d", web+", "+someday)
	s.now("d", "1")
	s.ended("d", 1, chaosv1.ResultDryRun)
	tells("PodDisruptionBudget web let ChaosPod d evict no pod")
	s.Must(s.Client.Delete(s.Context(), s.Object(s.manifest("d", web))))
	tells("")
}
