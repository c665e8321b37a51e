// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

func TestAWriterIsWarnedOfABudgetThatAllowsNoEviction(t *testing.T) {
	s := newSuite(t)
	s.run("web", 2, "")
	s.budget("never", "web", 2, 0)
	tries := 0
	warned := func(words, spec string) {
		s.Helper()
		s.eventually(func() error { // replicas learn of the workload a moment later
			tries++
			var told bytes.Buffer
			s.must(s.replicas.KubectlIO(s.Context(), strings.NewReader(s.manifest(fmt.Sprint("c-", tries), "suspend: true, "+spec+", "+someday)), io.Discard, &told, "-n", s.namespace, "apply", "-f", "-"))
			if strings.Contains(told.String(), "PodDisruptionBudget") != (words != "") || !strings.Contains(told.String(), words) {
				return fmt.Errorf("told %q, want %q", told.String(), words)
			}
			return nil
		})
	}
	const why = " of Deployment web: PodDisruptionBudget never never allows it (minAvailable: 2 of 2)"
	warned("spec.action.type: Evict kills no pod"+why, "dryRun: false, "+web)
	warned("spec.action.type: Evict kills no pod"+why, "dryRun: false, target: {selector: {matchLabels: {app: web}}}")
	warned("spec.action.type: Evict finds, as a dry run, that it could kill no pod"+why, web)
	warned("", "dryRun: false, action: {type: Delete}, "+web)
	s.merge("policy/v1", "PodDisruptionBudget", "never", "{spec: {minAvailable: 1}}")
	warned("", "dryRun: false, "+web)
}

func TestAPolicyThatEvictsTellsOfTheBudgetThatRefusedChaos(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.budget("web", "web", 3, 0)
	s.make(`{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: p}, spec: {targets: [{kind: Deployment, name: web}],
		triggers: [{name: yearly, type: Schedule, schedule: {cron: "0 0 29 2 *"}}], strategy: {type: Evict}}}`)
	tells := func(words string) {
		s.Helper()
		s.eventually(func() error {
			var p autorebootv1.RebootPolicy
			if err := s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: "p"}, &p); err != nil {
				return err
			}
			c := meta.FindStatusCondition(p.Status.Conditions, autorebootv1.ConditionDisruptionBudgetBlocks)
			switch {
			case !meta.IsStatusConditionTrue(p.Status.Conditions, autorebootv1.ConditionReady), meta.FindStatusCondition(p.Status.Conditions, autorebootv1.ConditionStalled) != nil:
				return fmt.Errorf("want it ready and not stalled:\n%s", s.yaml(p.Status))
			case (c != nil) != (words != ""), c != nil && (c.Reason != autorebootv1.ReasonDisruptionBudgetBlocks || !strings.Contains(c.Message, words)):
				return fmt.Errorf("want %q:\n%s", words, s.yaml(p.Status))
			}
			return nil
		})
	}
	tells("")
	s.chaos("c", "dryRun: false, "+web+", "+someday)
	s.now("c", "1")
	if run := s.ended("c", 1, chaosv1.RunNoVictim); !strings.Contains(run.Message, "(SkippedDisruptionBudget: web)") {
		t.Errorf("%+v", run)
	}
	tells("Deployment web: PodDisruptionBudget web let ChaosPod c evict no pod although 3 pods were ready")
	// The budget allows one, and the next run finds that out.
	s.merge("policy/v1", "PodDisruptionBudget", "web", "{spec: {minAvailable: 2}}")
	s.allows("web", 1)
	s.now("c", "2")
	s.ended("c", 2, chaosv1.RunSurvived)
	tells("")
	// A dry run asks the same question.
	s.merge("policy/v1", "PodDisruptionBudget", "web", "{spec: {minAvailable: 3}}")
	s.allows("web", 0)
	s.chaos("d", web+", "+someday)
	s.now("d", "1")
	s.ended("d", 1, chaosv1.RunDryRun)
	tells("PodDisruptionBudget web let ChaosPod d evict no pod")
	s.must(s.client.Delete(s.Context(), s.object(s.manifest("d", web))))
	tells("")
}
