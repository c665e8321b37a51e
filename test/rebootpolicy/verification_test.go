// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// patient is a soak in which a pod that crashes a second after it became ready is seen to.
const patient = "soak: 3s, timeout: 2m"

func TestARestartThatFailsIsTriedAgainAndThenHaltsThePolicy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.workload(deployment, "bad", takes("creds"), faulty("crash-once"))
	s.workload(deployment, "next", takes("creds"))
	s.crashed("bad")
	s.available(deployment, "next")
	s.policy("p", `{targets: [{kind: Deployment, name: bad}, {kind: Deployment, name: next, wave: 1}], `+onConfig+`,
		retry: {maxAttempts: 1, backoff: 2s}, verification: {`+patient+`, maxContainerRestarts: 0, onFailure: Halt}}`)
	s.watching("p", 2)
	s.secret("creds", "password", "second")
	s.held("p", "bad", autorebootv1.ReasonBackoff)
	s.condition("p", autorebootv1.ConditionVerified, metav1.ConditionFalse, autorebootv1.ReasonContainerRestarts)
	status := s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonVerificationFailed)
	if h := status.Halt; h == nil || h.Reason != autorebootv1.ReasonVerificationFailed || h.Target.Name != "bad" {
		t.Errorf("halt: %s", framework.Text(h))
	}
	for _, record := range s.ended("p", 2) {
		if record.Target.Name != "bad" || record.Result != autorebootv1.ResultFailed || record.Reason != autorebootv1.ReasonContainerRestarts {
			t.Errorf("want it Failed, ContainerRestarts: %s", framework.Text(record))
		}
	}
	s.Tells("RebootPolicy", "p", "RestartFailed", 2)
	s.Tells(deployment, "bad", "RestartFailed", 2)
	s.held("p", "next", autorebootv1.ReasonHalted)
	s.restarted(deployment, "bad", 2)
	s.restarted(deployment, "next", 0)

	// A person forgives one crash, which is a change of the spec. What waited is not lost.
	s.set("p", "{verification: {maxContainerRestarts: 1}}")
	history := s.ended("p", 4)
	for _, record := range history[:2] {
		if record.Result != autorebootv1.ResultSucceeded {
			t.Errorf("want it Succeeded: %s", framework.Text(record))
		}
	}
	s.without("p", autorebootv1.ConditionStalled)
	s.restarted(deployment, "bad", 3)
	s.restarted(deployment, "next", 1)
}

// crashed waits until every pod of a workload has crashed once, and is back.
func (s *suite) crashed(name string) {
	s.Helper()
	s.Eventually(func() error {
		for _, pod := range s.pods(name) {
			if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].RestartCount == 0 {
				return fmt.Errorf("pod %s has not crashed yet", pod.Name)
			}
		}
		return complete(s.read(deployment, name))
	})
}

func TestAWorkloadThatDoesNotStayAvailableHasFailed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", verification: {soak: 110s, timeout: 2m}}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseSoaking)
	for _, pod := range s.pods("web") {
		s.Merge("v1", "Pod", pod.Name, "{metadata: {labels: {fault: unready}}}")
	}
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultFailed || history[0].Reason != autorebootv1.ReasonUnavailable {
		t.Errorf("want it Failed, Unavailable: %s", framework.Text(history))
	}
	s.restarted(deployment, "web", 1)
}
