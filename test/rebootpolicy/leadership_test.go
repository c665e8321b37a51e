// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
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

// TestALeaderThatIsKilledTakesNoFailedRequestWithIt has the leader killed in the midst of two rollouts: requests of the clients
// of one have failed until then, and all of the other have succeeded.
func TestALeaderThatIsKilledTakesNoFailedRequestWithIt(t *testing.T) {
	s := newSuite(t)
	servers := map[string]*externalnet.Server{}
	for _, name := range []string{"well", "ill"} {
		address := s.Servers.Address()
		servers[name] = s.server(s.Servers.HTTP(address + ":8080"))
		s.secret(name, "password", "first")
		s.run(deployment, name, takes(name), replicas(2), slow(longRollout))
		s.policy(name, "{"+targets(deployment, name)+", "+onConfig+", "+requests(address, "")+"}")
		s.watching(name, 1)
	}
	for name := range servers {
		s.secret(name, "password", "second")
	}
	for name := range servers {
		s.rolling(name, autorebootv1.PhaseRollingOut)
	}
	s.Must(servers["ill"].Set(externalnet.Behavior{Fault: externalnet.Refuse}))
	s.failing("ill")
	s.Must(servers["ill"].Set(externalnet.Behavior{}))
	before := servers["well"].Counts().Requests
	s.KillLeader()
	const untold = "none was sent while no replica led"
	well := s.record("well", 1, autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable)
	if r := well.Requests; r.Failed != 0 || r.Sent == 0 || int(r.Sent) > servers["well"].Counts().Requests || !strings.HasSuffix(well.Message, untold) {
		t.Errorf("%d requests before: %s", before, framework.Text(well))
	}
	ill := s.record("ill", 1, autorebootv1.ResultFailed, autorebootv1.ReasonProbesFailed)
	if r := ill.Requests; r.Failed == 0 || r.Failed >= r.Sent || !strings.Contains(ill.Message, untold) {
		t.Errorf("%s", framework.Text(ill))
	}
	for name := range servers {
		s.restarted(deployment, name, 1)
	}
	t.Logf("%s\n%s", framework.Text(well), framework.Text(ill))
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
