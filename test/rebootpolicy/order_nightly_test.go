// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAGroupIsSharedByItsPolicies(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	names := s.fleet(4, "creds")
	const alone = "concurrency: {maxTargets: 1, group: shop}, "
	s.policy("a", "{"+targets(deployment, names[:2]...)+", "+alone+onConfig+"}")
	s.policy("b", "{"+targets(deployment, names[2:]...)+", "+alone+onConfig+"}")
	s.watching("a", 2)
	s.watching("b", 2)
	crowd := s.watchCrowd()
	s.secret("creds", "password", "second")
	s.succeeded("a", 2)
	s.succeeded("b", 2)
	for _, name := range names {
		s.restarted(deployment, name, 1)
	}
	if n := crowd.atOnce(); n != 1 {
		t.Errorf("%d restarts of the group at once, want 1", n)
	}
}

func TestTwoPoliciesOnOneWorkloadTakeTurns(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.secret("more", "password", "first")
	s.run(deployment, "web", bare, slow(longRollout))
	for name, source := range map[string]string{"a": "creds", "b": "more"} {
		s.policy(name, "{"+targets(deployment, "web")+`, triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: `+source+"}]}}]}")
		s.watching(name, 1)
	}
	crowd := s.watchCrowd()
	s.secret("creds", "password", "second")
	s.rolling("a", autorebootv1.PhaseRollingOut)
	s.secret("more", "password", "second")
	s.succeeded("a", 1)
	// It may have been made needless by the first.
	if history := s.ended("b", 1); history[0].Result == autorebootv1.ResultFailed {
		t.Errorf("the second failed: %s", framework.Text(history))
	}
	if n := crowd.atOnce(); n != 1 {
		t.Errorf("%d restarts of the workload at once, want 1", n)
	}
}

func TestAWindowThatClosesStopsTheNextWaveAndNotTheOneUnderWay(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.fleet(2, "creds", slow(longRollout))
	s.policy("p", `{targets: [{kind: Deployment, name: web-0}, {kind: Deployment, name: web-1, wave: 1}], windows: `+always+", "+onConfig+"}")
	s.watching("p", 2)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseRollingOut)
	window, _ := far()
	s.set("p", "{windows: "+window+"}")
	s.held("p", "web-1", autorebootv1.ReasonOutsideWindow)
	history := s.succeeded("p", 1)
	if history[0].Target.Name != "web-0" {
		t.Errorf("restarted outside of a window: %s", framework.Text(history))
	}
	s.restarted(deployment, "web-0", 1)
	s.restarted(deployment, "web-1", 0)
	s.set("p", "{windows: "+always+"}")
	s.succeeded("p", 2)
	s.restarted(deployment, "web-1", 1)
}

func TestAChangeInTheMiddleOfARolloutIsOneMoreRestart(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"), slow(longRollout), replicas(2))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)
	s.secret("creds", "password", "second")
	s.rolling("p", autorebootv1.PhaseRollingOut)
	id := s.restartID(deployment, "web")
	s.Eventually(func() error { // a pod that took what was there before
		for _, pod := range s.pods("web") {
			if pod.Annotations[autorebootv1.RestartIDAnnotation] == id {
				return nil
			}
		}
		return fmt.Errorf("no pod of restart %s yet", id)
	})
	s.secret("creds", "password", "third")
	s.succeeded("p", 2)
	s.restarted(deployment, "web", 2)
	s.Never(func() error { return s.quiet("p", 2) })
}
