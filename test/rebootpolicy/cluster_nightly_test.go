// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestWhatIsRefusedInOneNamespaceStopsNothingInAnother(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	name := s.Namespace
	const n = 120 // more than one reconcile writes
	bounded, taken := "", ""
	for i := range n {
		namespace := s.NewNamespace()
		other := &suite{s.Test}
		other.Namespace = namespace
		other.workload(deployment, "web", takes("creds"), asks(common.RestartOnChangeAnnotation, "true"))
		switch i {
		case 7:
			bounded = namespace
			other.Make(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {count/rebootpolicies.autoreboot.fairlead.dev: "0"}}}`)
			other.Eventually(func() error {
				var quota corev1.ResourceQuota
				if err := other.Get("none", &quota); err != nil || len(quota.Status.Hard) == 0 {
					return fmt.Errorf("the quota is not known yet: %w", err)
				}
				return nil
			})
		case 8:
			taken = namespace
			other.policy(name, "{"+targets(deployment, "elsewhere")+", "+onConfig+"}")
		}
		s.label(namespace, name, "yes")
	}
	s.clusterPolicy(name, `targets: [{selector: {}, optIn: Annotation}]`)
	status := s.inStep(name, autorebootv1.ReasonWriteRefused, n, n-2, 2)
	reasons := map[string]autorebootv1.NamespaceRefusal{}
	for _, refusal := range status.Refusals {
		reasons[refusal.Namespace] = refusal
	}
	if r := reasons[bounded]; r.Reason != autorebootv1.ReasonWriteRefused || !strings.Contains(r.Message, "quota") {
		t.Errorf("the quota: %s", framework.Text(status.Refusals))
	}
	if r := reasons[taken]; r.Reason != autorebootv1.ClusterReasonNameTaken || !strings.Contains(r.Message, "rename one of the two") {
		t.Errorf("the name: %s", framework.Text(status.Refusals))
	}
}

// As in a move from Reloader: while that still runs it rolls a workload out by a change of the template, at once. The policy
// finds that each pod was made after the change.
func TestAWorkloadThatAnotherProjectHasRestartedIsNotRestartedAgain(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	name := s.Namespace
	s.secret("creds", "password", "first")
	for _, w := range []string{"both", "alone"} {
		s.run(deployment, w, takes("creds"), asks("reloader.stakater.com/auto", "true"))
	}
	s.label(s.Namespace, name, "yes")
	s.clusterPolicy(name, `compatibility: Reloader, targets: [{selector: {}, optIn: Annotation}]`)
	s.Merge("autoreboot.fairlead.dev/v1", "ClusterRebootPolicy", name, `{spec: {template: {spec: {debounce: {quietPeriod: 5s}, concurrency: {maxTargets: 2}}}}}`)
	s.watching(name, 2)
	s.secret("creds", "password", "second")
	s.nextSecond()
	s.Merge("apps/v1", deployment, "both", `{spec: {template: {metadata: {annotations: {reloader.stakater.com/last-reloaded-from: creds}}}}}`)
	s.available(deployment, "both")
	s.Eventually(func() error {
		policy, err := s.get(name)
		if err != nil {
			return err
		}
		for _, w := range []string{"both", "alone"} {
			if own := of(policy.Status.History, w); len(own) != 1 {
				return fmt.Errorf("%s: %s", w, framework.Text(policy.Status))
			}
		}
		if own := of(policy.Status.History, "both")[0]; own.Reason != autorebootv1.ReasonNewerPods {
			return fmt.Errorf("it was restarted twice: %s", framework.Text(own))
		}
		return nil
	})
	s.generation(deployment, "both", 2)
	s.restarted(deployment, "alone", 1)
}

func TestWhatIsExcludedRestartsNothing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first", "stamp", "1")
	s.Make(`{apiVersion: v1, kind: ConfigMap, metadata: {name: noise, labels: {reload: "no"}}, data: {a: "1"}}`)
	s.run(deployment, "web", `{containers: [{name: main, image: none, envFrom: [{secretRef: {name: creds}}, {configMapRef: {name: noise}}]}]}`)
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: config, type: ConfigChange, configChange: {exclude: [
		{kind: Secret, name: creds, keys: [stamp]}, {kind: ConfigMap, selector: {matchLabels: {reload: "no"}}}]}}]}`)
	s.watching("p", 1)
	s.secret("creds", "password", "first", "stamp", "2")
	s.Merge("v1", "ConfigMap", "noise", `{data: {a: "2"}}`)
	s.Never(func() error { return s.quiet("p", 0) })
	s.secret("creds", "password", "second", "stamp", "2")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
