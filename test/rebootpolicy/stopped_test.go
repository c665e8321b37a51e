// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// TestARolloutThatAUserStopsIsNotVerified has restarts whose new pods never become ready. A user ends each rollout halfway by
// an edit of the workload. The state after that must not count as success.
func TestARolloutThatAUserStopsIsNotVerified(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	stops := []struct{ kind, name, stop, goOn, words string }{
		{deployment, "paused", "{spec: {paused: true}}", "{spec: {paused: false}}", "the workload is Paused"},
		{deployment, "empty", "{spec: {replicas: 0}}", "{spec: {replicas: 2}}", "the workload is ScaledToZero"},
		{statefulSet, "kept", "{spec: {updateStrategy: {rollingUpdate: {partition: 2}}}}", "{spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}", "the workload is Partitioned"},
		{statefulSet, "manual", "{spec: {updateStrategy: {type: OnDelete, rollingUpdate: null}}}", "{spec: {updateStrategy: {type: RollingUpdate}}}", "the workload is OnDelete"},
		{daemonSet, "node", "{spec: {updateStrategy: {type: OnDelete, rollingUpdate: null}}}", "{spec: {updateStrategy: {type: RollingUpdate}}}", "the workload is OnDelete"},
	}
	for _, w := range stops {
		edits := []edit{slow(longRollout)}
		if w.kind != daemonSet {
			edits = append(edits, replicas(2))
		}
		s.run(w.kind, w.name, takes("creds"), edits...)
	}
	s.run(deployment, "later", takes("creds"))
	var first []string
	for _, w := range stops {
		first = append(first, fmt.Sprintf("{kind: %s, name: %s}", w.kind, w.name))
	}
	s.policy("p", "{targets: ["+strings.Join(first, ", ")+", {kind: Deployment, name: later, wave: 1}], "+onConfig+"}")
	s.watching("p", len(stops)+1)
	s.annotate("p", autorebootv1.RestartNowAnnotation, "monday")
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		n := 0
		for _, f := range st.InFlight {
			if f.Phase == autorebootv1.PhaseRollingOut {
				n++
			}
		}
		if n != len(stops) {
			return fmt.Errorf("%d roll out, want %d", n, len(stops))
		}
		return nil
	})
	for _, w := range stops {
		s.Merge("apps/v1", w.kind, w.name, w.stop)
	}
	status := s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		for _, c := range st.Conditions {
			if c.Type != autorebootv1.ConditionProgressing || c.Status != metav1.ConditionTrue {
				continue
			}
			for _, w := range stops[:3] { // a condition names three
				if !strings.Contains(c.Message, w.words) && strings.Contains(c.Message, w.name+":") {
					return fmt.Errorf("want %q", w.words)
				}
			}
			return nil
		}
		return fmt.Errorf("want Progressing")
	})
	if status.VerifiedRestartNow != "" {
		t.Errorf("verifiedRestartNow is %q", status.VerifiedRestartNow)
	}
	s.Never(func() error {
		policy, err := s.get("p")
		if err != nil {
			return err
		}
		if st := policy.Status; len(st.InFlight) != len(stops) || len(st.History) > 0 || st.VerifiedRestartNow != "" {
			return fmt.Errorf("a restart has ended whose pods are not new: %s", framework.Text(st))
		}
		return nil
	})
	s.generation(deployment, "later", 1)

	for _, w := range stops {
		s.Merge("apps/v1", w.kind, w.name, w.goOn)
	}
	s.succeeded("p", len(stops)+1)
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if st.VerifiedRestartNow != "monday" {
			return fmt.Errorf("verifiedRestartNow is %q", st.VerifiedRestartNow)
		}
		return nil
	})
	for _, w := range stops {
		id := s.restartID(w.kind, w.name)
		for _, pod := range s.pods(w.name) {
			if pod.Annotations[autorebootv1.RestartIDAnnotation] != id {
				t.Errorf("pod %s is not of restart %s", pod.Name, id)
			}
		}
	}
}

// TestARolloutThatStaysPausedFailsWithThatReason is the other end of it.
func TestARolloutThatStaysPausedFailsWithThatReason(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), replicas(2), slow("1m"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", verification: {soak: 1s, timeout: 10s}}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseRollingOut)
	s.Merge("apps/v1", deployment, "web", "{spec: {paused: true}}")
	s.condition("p", autorebootv1.ConditionVerified, metav1.ConditionFalse, autorebootv1.ReasonTimedOut)
	if history := s.ended("p", 1); history[0].Message != "the workload is Paused" {
		t.Errorf("message %q", history[0].Message)
	}
}

func TestARolloutThatAFinalizerOfAPodKeepsFromItsEndNamesIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(statefulSet, "db", takes("creds"), replicas(2))
	s.policy("p", "{targets: [{kind: StatefulSet, name: db}], "+onConfig+"}")
	s.watching("p", 1)
	s.Merge("v1", "Pod", "db-1", "{metadata: {finalizers: [example.com/guard]}}")
	s.secret("creds", "password", "second")
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionProgressing)
		if c == nil || !strings.Contains(c.Message, "pod db-1 is being deleted, and exists until its finalizer example.com/guard is removed") {
			return fmt.Errorf("Progressing is %+v", c)
		}
		return nil
	})
	s.Merge("v1", "Pod", "db-1", "{metadata: {finalizers: null}}")
	s.succeeded("p", 1)
}
