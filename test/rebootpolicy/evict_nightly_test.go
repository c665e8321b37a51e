// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestTwoBudgetsOverOnePodEndTheRestart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), replicas(2))
	s.budget("one", "web", 1, 1)
	s.budget("two", "web", 1, 1)
	s.policy("p", "{"+targets(deployment, "web")+", "+evict+onConfig+"}")
	s.watching("p", 1)
	pods := s.watchPods("web")
	s.secret("creds", "password", "second")
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultFailed || history[0].Reason != autorebootv1.ReasonEvictionMisconfigured {
		t.Errorf("want it Failed, EvictionMisconfigured: %s", framework.Text(history))
	}
	s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonVerificationFailed)
	if seen, _ := pods.figures(); seen != 2 {
		t.Errorf("%d pods in all, want 2", seen)
	}
}

// TestABudgetThatProtectsWhatIsStuckIsNamedWithTheRemedy has three pods that run and are not ready, which a budget of two keeps.
func TestABudgetThatProtectsWhatIsStuckIsNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), replicas(3))
	s.budget("web", "web", 2, 1)
	for _, pod := range s.pods("web") {
		s.Merge("v1", "Pod", pod.Name, "{metadata: {labels: {fault: unready}}}")
	}
	s.Eventually(func() error {
		if n, _, _ := unstructured.NestedInt64(s.read(deployment, "web").Object, "status", "readyReplicas"); n > 0 {
			return fmt.Errorf("%d pods are ready", n)
		}
		return nil
	})
	const remedy = "unhealthyPodEvictionPolicy"
	probe := strings.TrimSuffix(onProbe(9), "]")
	_, told, err := s.Try(s.manifest("p", "{"+targets(deployment, "web")+", "+evict+probe+", {name: config, type: ConfigChange}]}"), "apply", "-f", "-")
	if err != nil || !strings.Contains(told, remedy) {
		t.Errorf("%v: told %q, want %s", err, told, remedy)
	}
	s.watching("p", 1)
	s.annotate("p", autorebootv1.RestartNowAnnotation, "monday")
	if history := s.ended("p", 1); history[0].Reason != autorebootv1.ReasonEvictionBlocked || !strings.Contains(history[0].Message, "PodDisruptionBudget web") || !strings.Contains(history[0].Message, remedy) {
		t.Errorf("want EvictionBlocked, with %s: %s", remedy, framework.Text(history))
	}
	s.Merge("policy/v1", "PodDisruptionBudget", "web", "{spec: {unhealthyPodEvictionPolicy: AlwaysAllow}}")
	s.set("p", "{strategy: {evict: {timeout: 2m}}}")
	s.Eventually(func() error {
		policy, err := s.get("p")
		if err == nil && (len(policy.Status.History) != 2 || policy.Status.History[0].Result != autorebootv1.ResultSucceeded) {
			err = fmt.Errorf("want it Succeeded: %s", framework.Text(policy.Status))
		}
		return err
	})
}

// TestABudgetThatCannotCountADaemonSetIsNamedWithTheRemedy sees that the API server allows no eviction by such a budget.
func TestABudgetThatCannotCountADaemonSetIsNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(daemonSet, "agent", takes("creds"))
	s.Make("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: agent}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: agent}}}}")
	const remedy = "minAvailable as a number"
	tries := 0
	s.Eventually(func() error { // replicas learn of the workload a moment later
		tries++
		_, told, err := s.Try(s.manifest(fmt.Sprint("w-", tries), "{suspend: true, "+targets(daemonSet, "agent")+", "+evict+onConfig+"}"), "apply", "-f", "-")
		s.Must(err)
		if !strings.Contains(told, "PodDisruptionBudget agent never allows it") || !strings.Contains(told, remedy) {
			return fmt.Errorf("told %q", told)
		}
		return nil
	})
	s.policy("p", "{"+targets(daemonSet, "agent")+", "+evict+onConfig+"}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	if history := s.ended("p", 1); history[0].Reason != autorebootv1.ReasonEvictionBlocked || !strings.Contains(history[0].Message, remedy) {
		t.Errorf("want EvictionBlocked, with %s: %s", remedy, framework.Text(history))
	}
}

func TestAWriterIsWarnedOfABudgetThatAllowsNoEviction(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare, replicas(2))
	s.Make("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: never}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}")
	tries := 0
	warned := func(words string, more string) {
		s.Helper()
		s.Eventually(func() error { // replicas learn of the workload a moment later
			tries++
			_, told, err := s.Try(s.manifest(fmt.Sprint("p-", tries), "{suspend: true, "+targets(deployment, "web")+", "+onConfig+more+"}"), "apply", "-f", "-")
			s.Must(err)
			if strings.Contains(told, "PodDisruptionBudget") != (words != "") || !strings.Contains(told, words) {
				return fmt.Errorf("told %q, want %q", told, words)
			}
			return nil
		})
	}
	warned("spec.strategy.type: Evict restarts no pod of Deployment web: PodDisruptionBudget never never allows it (minAvailable: 2 of 2)", ", strategy: {type: Evict}")
	warned("", "") // a rollout asks no budget
	s.run(deployment, "lone", bare)
	lone := "spec.strategy.type: Evict leaves Deployment lone, of one replica, without a pod"
	s.Eventually(func() error {
		tries++
		_, told, err := s.Try(s.manifest(fmt.Sprint("p-", tries), "{suspend: true, "+targets(deployment, "lone")+", "+onConfig+`, strategy: {type: Evict}, windows: [{name: hourly, cron: "*/61 * * * *", duration: 1h}]}`), "apply", "-f", "-")
		s.Must(err)
		return framework.Holds(told, lone, "spec.windows[0].cron: the step of */61 is longer than its range")
	})
	s.Merge("policy/v1", "PodDisruptionBudget", "never", "{spec: {minAvailable: 1}}")
	warned("", ", strategy: {type: Evict}")
}
