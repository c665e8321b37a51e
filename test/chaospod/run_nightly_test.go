// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

func TestTwoBudgetsOverOnePodStopTheChaos(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.budget("one", "web", 2, 1)
	s.budget("two", "web", 2, 1)
	s.chaos("c", "dryRun: false, "+web+", "+someday)
	before := s.pods("web")
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultFailed)
	s.condition("c", chaosv1.ConditionStalled, metav1.ConditionTrue, chaosv1.ReasonEvictionMisconfigured)
	s.told("ChaosPod", "c", "Halted")
	if died := gone(before, s.pods("web")); len(died) > 0 {
		t.Errorf("killed %q", died)
	}
}

func TestAChaosPodThatIsReplacedKillsNoMorePodsThatDay(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	const spec = "dryRun: false, safety: {maxPerDay: 1}, verification: {soak: 0s}, " + web + ", " + someday
	s.chaos("c", spec)
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultSurvived)
	s.available("web", 3)
	s.Delete(chaosv1.GroupVersion.String(), "ChaosPod", "c")
	s.chaos("c", spec)
	s.now("c", "2")
	s.says("c", chaosv1.ConditionWaiting, metav1.ConditionTrue, chaosv1.ReasonDailyLimit, "1 pod killed")
}

func TestAWorkloadThatDoesNotComeBackHaltsTheChaosUntilARetry(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.chaos("c", "dryRun: false, "+web+", verification: {timeout: 30s}, "+someday)
	s.Make(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}, spec: {hard: {pods: "0"}}}`) // so that no pod comes back
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultRecoveryFailed)
	s.condition("c", chaosv1.ConditionSurvived, metav1.ConditionFalse, chaosv1.ReasonRecoveryFailed)
	s.condition("c", chaosv1.ConditionStalled, metav1.ConditionTrue, chaosv1.ReasonRecoveryFailed)
	s.told("Deployment", "web", "RecoveryFailed")
	s.told("ChaosPod", "c", "Halted")
	s.Must(s.Client.Delete(s.Context(), s.Object("{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}}")))
	s.available("web", 3)
	s.now("c", "2")
	s.annotate("c", chaosv1.RetryAnnotation, "1")
	s.ended("c", 2, chaosv1.ResultSurvived)
	s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
		if st.Halt != nil || meta.FindStatusCondition(st.Conditions, chaosv1.ConditionStalled) != nil {
			return errors.New("still stalled")
		}
		return nil
	})
}
