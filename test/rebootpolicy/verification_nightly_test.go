// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestARolloutThatDoesNotCompleteInTimeHasFailed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.run(deployment, "other", takes("creds"))
	s.policy("p", `{targets: [{kind: Deployment, name: web}, {kind: Deployment, name: other, wave: 1}], `+onConfig+`, verification: {soak: 1s, timeout: 45s}}`)
	s.watching("p", 2)
	// No pod can be added to the namespace.
	s.Make("{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}, spec: {hard: {pods: 2}}}")
	s.Eventually(func() error {
		quota := s.Object("{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}}")
		s.Must(s.Client.Get(s.Context(), objectKey(quota), quota))
		if quota.Object["status"] == nil {
			return fmt.Errorf("the quota is not in force yet")
		}
		return nil
	})
	s.secret("creds", "password", "second")
	s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonVerificationFailed)
	s.condition("p", autorebootv1.ConditionVerified, metav1.ConditionFalse, autorebootv1.ReasonTimedOut)
	if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultFailed || history[0].Reason != autorebootv1.ReasonTimedOut {
		t.Errorf("want it Failed, TimedOut: %s", framework.Text(history))
	}
	s.Never(func() error {
		if id := s.restartID(deployment, "other"); id != "" {
			return fmt.Errorf("the other workload was restarted by %s", id)
		}
		return nil
	})
	// Once there is room again, a person says so.
	s.Delete("v1", "ResourceQuota", "full")
	s.available(deployment, "web")
	s.retry("p")
	s.Eventually(func() error {
		policy, err := s.get("p")
		if err != nil {
			return err
		}
		if own := of(policy.Status.History, "other"); len(own) != 1 || own[0].Result != autorebootv1.ResultSucceeded {
			return fmt.Errorf("the other workload: %s", framework.Text(policy.Status))
		}
		return nil
	})
}

func TestOneOfManyThatFailsKeepsNoOtherFromItsRestart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.workload(deployment, "bad", takes("creds"), faulty("crash-once"))
	names := s.fleet(9, "creds")
	s.crashed("bad")
	s.policy("p", `{targets: [{kind: Deployment, selector: {matchExpressions: [{key: app, operator: Exists}]}}], `+onConfig+`,
		concurrency: {maxTargets: 4}, verification: {`+patient+`, onFailure: Continue}}`)
	s.watching("p", 10)
	s.secret("creds", "password", "second")
	history := s.ended("p", 10)
	for _, name := range names {
		if own := of(history, name); len(own) != 1 || own[0].Result != autorebootv1.ResultSucceeded {
			t.Errorf("%s: want it Succeeded, once: %s", name, framework.Text(own))
		}
		s.restarted(deployment, name, 1)
	}
	if own := of(history, "bad"); len(own) != 1 || own[0].Result != autorebootv1.ResultFailed {
		t.Errorf("bad: want it Failed, once: %s", framework.Text(own))
	}
	s.restarted(deployment, "bad", 1)
	s.without("p", autorebootv1.ConditionStalled)
	s.Never(func() error { return s.quiet("p", 10) })
}
