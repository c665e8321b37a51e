// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/stage"
)

// leaseName is the one that the shipped configuration uses.
const leaseName = "fairlead-manager"

// fill starts replicas until there are two, and waits until the webhooks are reached.
func (p *play) fill(ctx context.Context) error {
	for {
		p.mu.Lock()
		n := len(p.replicas)
		p.mu.Unlock()
		if n >= 2 {
			return p.Reachable(ctx)
		}
		replica, err := p.StartReplica(ctx, "--dns-nameservers="+p.world.DNS.Addr().String(), "--max-restarts=500",
			// No Lease is lost because the machine is busy; whoever kills a leader frees it.
			"--leader-elect-lease-duration=240s", "--leader-elect-renew-deadline=200s")
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.replicas = append(p.replicas, replica)
		p.mu.Unlock()
	}
}

// leave takes a replica from the play; its log is still read at the end.
func (p *play) leave(r *stage.Replica) {
	p.Retire(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replicas = slices.DeleteFunc(p.replicas, func(other *stage.Replica) bool { return other == r })
	p.retired = append(p.retired, r)
}

func (p *play) running() []*stage.Replica {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.replicas)
}

// lease is the one that the leader holds.
func (s *scene) lease() (*coordinationv1.Lease, error) {
	var lease coordinationv1.Lease
	err := s.client.Get(s.Context(), client.ObjectKey{Namespace: stage.Namespace, Name: leaseName}, &lease)
	return &lease, err
}

// leader waits for a replica that leads and is through its whole start.
func (s *scene) leader() *stage.Replica {
	s.Helper()
	var leader *stage.Replica
	s.eventually(func() error {
		lease, err := s.lease()
		if err != nil {
			return err
		}
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		for _, replica := range s.play.running() {
			if replica.ID == holder {
				leader = replica
				return replica.Started(s.Context())
			}
		}
		return fmt.Errorf("the Lease is held by %q, who is none of the replicas", holder)
	})
	return leader
}

// killLeader ends the leader by SIGKILL, and returns when another replica leads and there are two
// again. That the Lease expires is not waited for.
func (s *scene) killLeader() {
	s.Helper()
	killed := s.leader()
	killed.Kill()
	lease, err := s.lease()
	s.must(err)
	s.must(client.IgnoreNotFound(s.client.Delete(s.Context(), lease)))
	s.play.leave(killed)
	s.must(s.play.fill(suite))
	if s.leader() == killed {
		s.Fatalf("%s was killed, and leads", killed.ID)
	}
}

// restartOperator stops every replica in order, and returns when one of two new ones leads. While
// no replica runs, between may change the world; it may be nil.
func (s *scene) restartOperator(between func()) {
	s.Helper()
	for _, replica := range s.play.running() {
		s.play.leave(replica)
	}
	if between != nil {
		between()
	}
	s.must(s.play.fill(suite))
	s.leader()
}
