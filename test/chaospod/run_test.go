// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

const web = "target: {workload: {kind: Deployment, name: web}}"

func TestOnePodDiesAndTheWorkloadSurvives(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.budget("web", "web", 2, 1)
	s.chaos("c", "dryRun: false, "+web+", "+someday)
	before := s.pods("web")
	s.now("c", "1")
	run := s.ended("c", 1, chaosv1.ResultSurvived)
	s.available("web", 3)
	died := gone(before, s.pods("web"))
	if len(died) != 1 || run.Killed != 1 || run.RecoveryDuration == nil {
		t.Errorf("died %q; %+v", died, run)
	}
	s.condition("c", chaosv1.ConditionSurvived, metav1.ConditionTrue, chaosv1.ReasonRecovered)
	for _, want := range [][3]string{
		{"ChaosPod", "c", "ChaosPlanned"}, {"ChaosPod", "c", "PodEvicted"}, {"ChaosPod", "c", "Recovered"},
		{"Pod", died[0], "PodEvicted"}, {"Deployment", "web", "PodEvicted"}, {"Deployment", "web", "Recovered"},
	} {
		s.told(want[0], want[1], want[2])
	}
	// The same token asks for nothing, another one for a second run.
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", "{metadata: {labels: {a: b}}}")
	s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", "{spec: {dryRun: true}}")
	before = s.pods("web")
	s.condition("c", chaosv1.ConditionReady, metav1.ConditionTrue, "")
	s.now("c", "2")
	if run := s.ended("c", 2, chaosv1.ResultDryRun); run.Killed != 0 || !strings.Contains(run.Message, "would die") {
		t.Errorf("dry run: %+v", run)
	}
	if died := gone(before, s.pods("web")); len(died) > 0 {
		t.Errorf("a dry run killed %q", died)
	}
}

func TestABudgetBlocksAndThenAllows(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.budget("web", "web", 3, 0)
	s.chaos("c", "dryRun: false, "+web+", "+someday)
	before := s.pods("web")
	s.now("c", "1")
	if run := s.ended("c", 1, chaosv1.ResultNoVictim); run.Reason != chaosv1.ReasonBudgetBlocked || !strings.Contains(run.Message, string(chaosv1.VictimSkippedDisruptionBudget)) {
		t.Errorf("%+v", run)
	}
	s.told("ChaosPod", "c", "ChaosBlockedByBudget")
	if died := gone(before, s.pods("web")); len(died) > 0 {
		t.Fatalf("killed %q", died)
	}
	s.Merge("policy/v1", "PodDisruptionBudget", "web", "{spec: {minAvailable: 2}}")
	s.allows("web", 1)
	s.now("c", "2")
	s.ended("c", 2, chaosv1.ResultSurvived)
	if died := gone(before, s.pods("web")); len(died) != 1 {
		t.Errorf("killed %q", died)
	}
}

func TestASelectorTakesOnePodOfEachOwner(t *testing.T) {
	s := newSuite(t)
	s.run("web", 2, ", chaos: me")
	s.run("api", 2, ", chaos: me")
	s.run("db", 2, "")
	s.Make("{apiVersion: v1, kind: Pod, metadata: {name: alone, labels: {app: alone, chaos: me}}, spec: {containers: [{name: main, image: none}]}}")
	s.chaos("c", "dryRun: false, action: {type: Delete}, count: 100%, target: {selector: {matchLabels: {chaos: me}}}, "+someday)
	before := map[string]map[types.UID]string{}
	for _, app := range []string{"web", "api", "db", "alone"} {
		before[app] = s.pods(app)
	}
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultSurvived)
	for app, want := range map[string]int{"web": 1, "api": 1, "db": 0, "alone": 0} {
		if died := gone(before[app], s.pods(app)); len(died) != want {
			t.Errorf("of %s %q died, want %d", app, died, want)
		}
	}
}
