// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAWorkloadThatIsNamedHasTheWaveOfItsName(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.fleet(2, "creds")
	s.policy("p", `{targets: [{kind: Deployment, name: web-0, wave: 1}, {kind: Deployment, selector: {matchExpressions: [{key: app, operator: Exists}]}}], `+onConfig+"}")
	s.watching("p", 2)
	s.secret("creds", "password", "second")
	if last := s.succeeded("p", 2)[0]; last.Target.Name != "web-0" || last.StartTime.Before(s.succeeded("p", 2)[1].CompletionTime) {
		t.Errorf("the last restart is %s", framework.Text(last))
	}
}

// TestAHaltNamesWhatChangesAndWhyItGoesOn has one Secret that is written again and again, and a user who sets the annotation
// before the policy halts, and applies it again.
func TestAHaltNamesWhatChangesAndWhyItGoesOn(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("noisy", "password", "first")
	s.secret("calm", "password", "first")
	s.run(deployment, "web", "{containers: [{name: main, image: none, envFrom: [{secretRef: {name: noisy}}, {secretRef: {name: calm}}]}]}")
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", limit: {maxRestarts: 1, within: 1h}}")
	s.watching("p", 1)
	s.secret("noisy", "password", "second")
	s.succeeded("p", 1)
	s.annotate("p", autorebootv1.RetryAnnotation, "early")
	s.secret("noisy", "password", "third")
	s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonLimitReached)
	s.explains("p", autorebootv1.ConditionStalled, "limit.maxRestarts is reached; the restart that waits is for config (Secret/noisy, which field manager ")
	s.explains("p", autorebootv1.ConditionStalled, `its value "early" was set before the halt`)
	s.Kubectl("annotate", "rbp", "p", autorebootv1.RetryAnnotation+"-")
	s.annotate("p", autorebootv1.RetryAnnotation, "early")
	s.Never(func() error {
		policy, err := s.get("p")
		if err == nil && policy.Status.Halt == nil {
			err = fmt.Errorf("the halt has ended: %s", framework.Text(policy.Status))
		}
		return err
	})
	s.retry("p")
	s.succeeded("p", 2)
	s.without("p", autorebootv1.ConditionStalled)
}

func TestAFailureIsOverOnceAnotherRolloutHasReplacedThePods(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), faulty("crash-once"))
	s.crashed("web")
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", retry: {maxAttempts: 3, backoff: 1h}, verification: {"+patient+"}}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	failed := s.condition("p", autorebootv1.ConditionVerified, metav1.ConditionFalse, autorebootv1.ReasonContainerRestarts)
	s.Eventually(func() error { // times of the API are whole seconds
		if since := time.Since(failed.LastRestartTime.Time); since < 2*time.Second {
			return fmt.Errorf("it failed %s ago", since)
		}
		return nil
	})
	s.reform(deployment, "web", "{metadata: {labels: {fault: null}}}")
	s.condition("p", autorebootv1.ConditionVerified, metav1.ConditionUnknown, autorebootv1.ReasonNewerPods)
	s.explains("p", autorebootv1.ConditionVerified, "since then another rollout has replaced the pods")
}
