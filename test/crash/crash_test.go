// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestWhateverBreaksAtWhicheverRequestAChangeIsOneRestart(t *testing.T) {
	t.Parallel()
	sampler := framework.NewSampler(t)
	acts := map[autorebootv1.StrategyType]string{
		autorebootv1.StrategyRolloutRestart: "deployments",
		autorebootv1.StrategyEvict:          "pods/eviction",
	}
	for _, strategy := range slices.Sorted(maps.Keys(acts)) {
		// Half of the writes are events, and each half has an operator of its own.
		for _, resources := range [][]string{{"rebootpolicies/status", acts[strategy]}, {"events"}} {
			for _, fault := range framework.Sample(sampler, 3, []fault{killBefore, killAfter, lost, conflict, failure}) {
				t.Run(fmt.Sprintf("%s, %s, at %s", strategy, fault, strings.Join(resources, " and ")), func(t *testing.T) {
					t.Parallel()
					s := newWorkload(t, strategy, "0s")
					g := s.newGateway()
					replica := s.launch(g, "--leader-elect=false")
					s.watched()
					s.breakEach(g, replica, fault, round{
						begin: func(n int) { s.change(strconv.Itoa(n)) },
						ended: s.ended,
						check: func(n int) { s.restarted(strategy, n) },
					}, resources...)
				})
			}
		}
	}
}

// round is a repeated sequence of changes. Its functions get the number of the round, from 1.
type round struct {
	begin func(n int)
	// ended is nil once it has ended.
	ended func(n int) error
	// check fails the test unless everything has happened as often as it should.
	check func(n int)
}

// breakEach has a round begin again and again, and each time the next of the writes to the resources
// meets a fault, until there is none left.
func (s *suite) breakEach(g *gateway, replica *framework.Replica, fault fault, of round, resources ...string) {
	s.Helper()
	var killed atomic.Bool // and not started since
	kill := func() {
		replica.Kill()
		killed.Store(true)
	}
	revive := func() {
		if killed.CompareAndSwap(true, false) {
			s.Must(replica.Start(s.Context()))
		}
	}
	s.Eventually(g.still)
	defer g.arm(charge{match: func(string) bool { return false }}) // what comes later meets no fault
	rounds := 0
	for _, resource := range resources {
		match := func(name string) bool { return strings.HasSuffix(name, " "+resource) }
		for n := 1; ; n++ {
			g.arm(charge{fault: fault, nth: n, match: match, kill: kill})
			rounds++
			of.begin(rounds)
			s.Eventually(func() error {
				revive()
				return of.ended(rounds)
			})
			s.Eventually(g.still) // the last writes are events that tell of the end
			revive()
			if of.check(rounds); s.Failed() {
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

// election is of the test's own: its Lease is in its namespace, and is not lost to a busy machine.
func (s *suite) election() []string {
	s.Helper()
	s.Make(`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: election},
		rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}]}`)
	s.Make(fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: election},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: election}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %q}]}`, s.Operator().Name))
	return []string{"--set=leaderElection.resourceNamespace=" + s.Namespace, "--set=leaderElection.resourceName=crash",
		"--set=leaderElection.leaseDuration=20s", "--set=leaderElection.renewDeadline=16s", "--set=leaderElection.retryPeriod=1s"}
}

// followed waits until the first replica has met a fault and ended, and the second has done what is to be.
func (s *suite) followed(g *gateway, first, second *framework.Replica, done func() error) {
	s.Helper()
	s.Eventually(func() error {
		if g.met() == "" || first.PID() != 0 {
			return fmt.Errorf("the first replica has met %q and has process %d (0: it has ended)", g.met(), first.PID())
		}
		return nil
	})
	s.Eventually(func() error {
		if second.PID() == 0 { // even this one may have lost its Lease on a busy machine
			s.Must(second.Start(s.Context()))
		}
		return done()
	})
}
