// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// TestABrokenPodOfAStatefulSetIsReplacedByItsRestart has pods that are made in order. One of them is broken: its controller
// replaces none before that one is ready. A budget refuses the eviction of one of them.
func TestABrokenPodOfAStatefulSetIsReplacedByItsRestart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	for _, name := range []string{"db", "kept"} {
		s.run(statefulSet, name, takes("creds"), replicas(2))
	}
	s.budget("tight", "kept", 2, 0)
	s.policy("p", "{"+targets(statefulSet, "db")+", "+onConfig+"}")
	s.policy("q", "{"+targets(statefulSet, "kept")+", "+onConfig+"}")
	s.watching("p", 1)
	s.watching("q", 1)
	for _, pod := range []string{"db-0", "kept-0"} {
		s.Merge("v1", "Pod", pod, "{metadata: {labels: {fault: unready}}}")
	}
	s.Eventually(func() error {
		for _, name := range []string{"db", "kept"} {
			if complete(s.read(statefulSet, name)) == nil {
				return fmt.Errorf("%s is available", name)
			}
		}
		return nil
	})
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	s.restarted(statefulSet, "db", 1)
	s.explains("q", autorebootv1.ConditionProgressing, "the PodDisruptionBudget tight refuses its eviction, so that a person must delete it: kubectl delete pod kept-0 -n "+s.Namespace)
	s.condition("q", autorebootv1.ConditionProgressing, metav1.ConditionTrue, string(autorebootv1.PhaseRollingOut))
	s.Kubectl("delete", "pod", "kept-0", "--wait=false")
	s.succeeded("q", 1)
}

// TestARolloutThatStandsStillHoldsNothing has, for each kind, a rollout by another user whose pods never start, and one whose
// pods become ready.
func TestARolloutThatStandsStillHoldsNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	kinds := map[string]string{"web": deployment, "db": statefulSet, "agent": daemonSet}
	for name, kind := range kinds {
		s.run(kind, name, takes("creds"))
	}
	s.workload(statefulSet, "new", takes("creds"), replicas(3), faulty("unready")) // its first rollout, with one pod so far
	s.run(deployment, "going", takes("creds"), replicas(2), surge(1), slow(longRollout))
	s.policy("p", "{targets: [{kind: Deployment, name: web}, {kind: StatefulSet, name: db}, {kind: StatefulSet, name: new}, {kind: DaemonSet, name: agent}], "+onConfig+"}")
	s.policy("q", "{"+targets(deployment, "going")+", "+onConfig+"}")
	s.watching("p", 4)
	s.watching("q", 1)
	for name, kind := range kinds {
		s.reform(kind, name, "{metadata: {labels: {fault: image-pull}}}")
	}
	s.reform(deployment, "going", "{metadata: {labels: {version: two}}}")
	s.Eventually(func() error {
		for _, pod := range s.pods("going") {
			for _, c := range pod.Status.Conditions {
				if pod.Labels["version"] == "two" && c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					return nil
				}
			}
		}
		return fmt.Errorf("no new pod is ready")
	})
	s.secret("creds", "password", "second")
	s.held("q", "going", autorebootv1.ReasonRolloutInProgress)
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.InFlight) != 4 {
			return fmt.Errorf("%d in flight", len(st.InFlight))
		}
		return nil
	})
}
