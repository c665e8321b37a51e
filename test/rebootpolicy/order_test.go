// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// crowd counts what is in flight in a namespace, over every status that any policy ever had: watches
// of one kind show all writes in their order.
type crowd struct {
	mu       sync.Mutex
	inFlight map[string][]string
	most     int
}

// watchCrowd ends with the test.
func (s *suite) watchCrowd() *crowd {
	s.Helper()
	changes, err := s.Client.Watch(s.Context(), &autorebootv1.RebootPolicyList{}, client.InNamespace(s.Namespace))
	s.Must(err)
	c := &crowd{inFlight: map[string][]string{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for change := range changes.ResultChan() {
			if policy, ok := change.Object.(*autorebootv1.RebootPolicy); ok {
				c.note(policy)
			}
		}
	}()
	s.Cleanup(func() { changes.Stop(); <-done })
	return c
}

func (c *crowd) note(policy *autorebootv1.RebootPolicy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, restart := range policy.Status.InFlight {
		if restart.Phase != autorebootv1.PhaseSoaking { // which is beside the next one
			names = append(names, restart.Name)
		}
	}
	c.inFlight[policy.Name] = names
	n := 0
	for _, names := range c.inFlight {
		n += len(names)
	}
	c.most = max(c.most, n)
}

// atOnce is the most that were ever in flight at once.
func (c *crowd) atOnce() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

// fleet creates Deployments of one pod each that take a Secret, and waits for them.
func (s *suite) fleet(n int, secret string, edits ...edit) (names []string) {
	s.Helper()
	for i := range n {
		names = append(names, fmt.Sprintf("web-%d", i))
		s.workload(deployment, names[i], takes(secret), edits...)
	}
	for _, name := range names {
		s.available(deployment, name)
	}
	return names
}

func TestWavesRestartOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.fleet(4, "creds", slow("1s"))
	s.policy("p", `{targets: [{kind: Deployment, name: web-0, wave: 2}, {kind: Deployment, name: web-1, wave: 1},
		{kind: Deployment, name: web-2}, {kind: Deployment, name: web-3}], `+onConfig+"}")
	s.watching("p", 4)
	s.secret("creds", "password", "second")
	s.held("p", "web-0", autorebootv1.ReasonLowerWave)
	history := s.succeeded("p", 4)
	wave := map[string]int{"web-0": 2, "web-1": 1, "web-2": 0, "web-3": 0}
	for _, earlier := range history {
		for _, later := range history {
			if wave[earlier.Target.Name] < wave[later.Target.Name] && later.StartTime.Before(earlier.CompletionTime) {
				t.Errorf("%s began at %s, before %s had ended at %s", later.Target.Name, later.StartTime, earlier.Target.Name, earlier.CompletionTime)
			}
		}
	}
	for name := range wave {
		s.restarted(deployment, name, 1)
	}
}

func TestNeverMoreRestartAtOnceThanMayBe(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	names := s.fleet(6, "creds")
	s.policy("p", `{targets: [{kind: Deployment, selector: {matchExpressions: [{key: app, operator: Exists}]}}], concurrency: {maxTargets: 2}, `+onConfig+"}")
	s.watching("p", 6)
	crowd := s.watchCrowd()
	s.secret("creds", "password", "second")
	s.succeeded("p", 6)
	for _, name := range names {
		s.restarted(deployment, name, 1)
	}
	if n := crowd.atOnce(); n != 2 {
		t.Errorf("%d restarts at once, want 2", n)
	}
}
