// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// Tests of this file take replicas down, and so run before all those that run in parallel.

func TestNothingIsLostOrDoneTwiceWhileReplicasComeAndGo(t *testing.T) {
	s := newSuite(t)
	for _, name := range []string{"still", "changed", "rolling", "waiting", "asked", "halted"} {
		s.secret(name, "password", "first")
		edits := []edit{replicas(2)}
		if name == "rolling" {
			edits = append(edits, slow(longRollout))
		}
		s.workload(deployment, name, takes(name), edits...)
	}
	for _, name := range []string{"still", "changed", "rolling", "waiting", "asked", "halted"} {
		s.available(deployment, name)
		s.policy(name, "{"+targets(deployment, name)+", "+onConfig+"}")
		s.watching(name, 1)
	}
	window, _ := far()
	s.set("waiting", "{windows: "+window+"}")
	s.secret("waiting", "password", "second")
	s.held("waiting", "waiting", autorebootv1.ReasonOutsideWindow)
	s.annotate("asked", autorebootv1.RestartNowAnnotation, "token")
	s.set("halted", "{limit: {maxRestarts: 1}}")
	s.secret("halted", "password", "second")
	s.succeeded("halted", 1)
	s.secret("halted", "password", "third")
	s.condition("halted", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonLimitReached)
	s.succeeded("asked", 1)

	// The leader is killed in the middle of a rollout: the next one verifies it.
	s.secret("rolling", "password", "second")
	s.rolling("rolling", autorebootv1.PhaseRollingOut)
	s.KillLeader()
	s.succeeded("rolling", 1)
	s.restarted(deployment, "rolling", 1)
	s.Tells("RebootPolicy", "rolling", "RestartVerified", 1)

	// A change while no replica runs is one restart once one does.
	s.Renew(func() {
		s.secret("changed", "password", "second")
		s.secret("changed", "password", "third")
	})
	s.succeeded("changed", 1)
	s.restarted(deployment, "changed", 1)

	// And all of this was nothing to those that nothing happened to.
	s.held("waiting", "waiting", autorebootv1.ReasonOutsideWindow)
	s.held("halted", "halted", autorebootv1.ReasonHalted)
	s.condition("halted", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonLimitReached)
	s.Tells("RebootPolicy", "halted", "LimitReached", 1)
	s.Never(func() error {
		for name, restarts := range map[string]int{"still": 0, "asked": 1, "rolling": 1, "changed": 1} {
			if err := s.quiet(name, restarts); err != nil {
				return err
			}
		}
		return nil
	})
	for name, restarts := range map[string]int{"still": 0, "asked": 1, "rolling": 1, "changed": 1, "waiting": 0, "halted": 1} {
		s.restarted(deployment, name, restarts)
	}
	s.set("waiting", "{windows: null}")
	s.succeeded("waiting", 1)
	s.restarted(deployment, "waiting", 1)
}

// rolling waits until a policy has a restart in a phase.
func (s *suite) rolling(name string, phase autorebootv1.RestartPhase) autorebootv1.RebootPolicyStatus {
	s.Helper()
	return s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		for _, restart := range st.InFlight {
			if restart.Phase == phase {
				return nil
			}
		}
		return fmt.Errorf("no restart is in phase %s", phase)
	})
}
