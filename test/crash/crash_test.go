// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestWhateverBreaksAtWhicheverRequestAChangeIsOneRestart(t *testing.T) {
	t.Parallel()
	for strategy, act := range map[autorebootv1.StrategyType]string{
		autorebootv1.StrategyRolloutRestart: "deployments",
		autorebootv1.StrategyEvict:          "pods/eviction",
	} {
		for _, fault := range []fault{killBefore, killAfter, lost, conflict, failure} {
			// Half of the writes are events, and each half has an operator of its own.
			for _, resources := range [][]string{{"rebootpolicies/status", act}, {"events"}} {
				t.Run(fmt.Sprintf("%s, %s, at %s", strategy, fault, strings.Join(resources, " and ")), func(t *testing.T) {
					t.Parallel()
					newScene(t, strategy, "0s").breakEach(strategy, fault, resources...)
				})
			}
		}
	}
}

// breakEach restarts the workload again and again, and each time has the next of the writes to the
// resources meet a fault, until there is none left.
func (s *scene) breakEach(strategy autorebootv1.StrategyType, fault fault, resources ...string) {
	s.Helper()
	g := s.newGateway()
	replica := s.launch(g, "--leader-elect=false")
	revive := func() {
		if g.met() != "" && replica.PID() == 0 {
			s.must(replica.Start(s.Context()))
		}
	}
	s.watched()
	s.eventually(g.still)
	restarts := 0
	for _, resource := range resources {
		match := func(name string) bool { return strings.HasSuffix(name, " "+resource) }
		for n := 1; ; n++ {
			g.arm(charge{fault: fault, nth: n, match: match, kill: replica.Kill})
			restarts++
			s.change(strconv.Itoa(restarts))
			s.eventually(func() error {
				revive()
				return s.ended(restarts)
			})
			s.eventually(g.still) // the last writes are events that tell of the end
			revive()
			if s.restarted(strategy, restarts); s.Failed() {
				s.Fatalf("%s: write %d to %s (%s); all writes so far: %q", fault, n, resource, g.met(), g.writes())
			}
			if g.met() == "" {
				if s.Logf("%d writes to %s met the fault", n-1, resource); n == 1 {
					s.Errorf("there is no write to %s: %q", resource, g.writes())
				}
				break
			}
		}
	}
}

// election is of the scene's own: its Lease is in its namespace.
func (s *scene) election() []string {
	s.Helper()
	s.make(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: election},
		rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}]}`)
	s.make(fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: election},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: election}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %q}]}`, s.play.Operator().Name))
	return []string{"--lease-lock-namespace=" + s.namespace, "--lease-lock-name=crash",
		"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=1s"}
}

func TestALeaderThatIsCutOffLeavesItsRestartToTheNext(t *testing.T) {
	t.Parallel()
	for _, fault := range []fault{sever, late} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, autorebootv1.StrategyRolloutRestart, "8s")
			election := s.election()
			g := s.newGateway()
			first := s.launch(g, election...)
			s.watched()
			second := s.launch(s.newGateway(), election...)
			s.eventually(func() error { return second.Ready(t.Context()) })
			g.arm(charge{fault: fault, nth: 1, match: func(name string) bool { return name == "PATCH deployments" }})
			s.change("second")
			s.eventually(func() error {
				if g.met() == "" || first.PID() != 0 {
					return fmt.Errorf("the first replica still leads")
				}
				return nil
			})
			s.eventually(func() error {
				if second.PID() == 0 { // even this one may have lost its Lease on a busy machine
					s.must(second.Start(t.Context()))
				}
				return s.ended(1)
			})
			if fault == late {
				// What the first had sent says the same, or is refused since it knows less.
				if code := g.deliver(); code != 200 && code != 409 {
					t.Errorf("the API server answers what came late by %d", code)
				}
			}
			s.eventually(func() error {
				if n := s.told()["RestartVerified"]; n != 1 {
					return fmt.Errorf("%d events RestartVerified, want 1: %v", n, s.told())
				}
				return nil
			})
			s.restarted(autorebootv1.StrategyRolloutRestart, 1)
		})
	}
}
