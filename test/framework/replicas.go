// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaseName is the one that the shipped configuration uses.
const leaseName = "fairlead-manager"

// Replicas is a cluster with two replicas, of which any may be lost and is replaced. Its methods may be
// called from any goroutine.
type Replicas struct {
	*Cluster
	// Client is the administrator's.
	Client client.WithWatch
	args   []string

	mu       sync.Mutex // guards what follows
	replicas []*Replica
	retired  []*Replica
}

// OpenReplicas opens a cluster and starts two replicas on it, each with the arguments.
func OpenReplicas(ctx context.Context, o Options, args ...string) (*Replicas, error) {
	s, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	// No Lease is lost because the machine is busy; a test that kills a leader frees it.
	patient := []string{"--leader-elect-lease-duration=240s", "--leader-elect-renew-deadline=200s"}
	t := &Replicas{Cluster: s, args: append(patient, args...)}
	if t.Client, err = NewClient(s.Kubeconfig()); err == nil {
		err = t.Fill(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return t, nil
}

// Fill starts replicas until there are two, and waits until the webhooks are reached.
func (t *Replicas) Fill(ctx context.Context) error {
	for len(t.Running()) < 2 {
		replica, err := t.StartReplica(ctx, t.args...)
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.replicas = append(t.replicas, replica)
		t.mu.Unlock()
	}
	return t.Reachable(ctx)
}

// Leave stops a replica for good; its log still counts at the end.
func (t *Replicas) Leave(r *Replica) {
	t.Retire(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replicas = slices.DeleteFunc(t.replicas, func(other *Replica) bool { return other == r })
	t.retired = append(t.retired, r)
}

// Running are the replicas that have not left.
func (t *Replicas) Running() []*Replica {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.replicas)
}

// Complaints are those of all replicas that ever ran.
func (t *Replicas) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Complaints(slices.Concat(t.retired, t.replicas)...)
}

// Leader waits for a replica that leads and is through its whole start.
func (t *Replicas) Leader(ctx context.Context) (*Replica, error) {
	var leader *Replica
	err := Eventually(ctx, startTimeout, func(ctx context.Context) error {
		lease, err := t.lease(ctx)
		if err != nil {
			return err
		}
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		for _, replica := range t.Running() {
			if replica.ID == holder {
				leader = replica
				return replica.Started(ctx)
			}
		}
		return fmt.Errorf("the Lease is held by %q, who is none of the replicas", holder)
	})
	return leader, err
}

// KillLeader ends the leader by SIGKILL, and returns when another replica leads and there are two
// again; life is how long new ones live. That the Lease expires is not waited for.
func (t *Replicas) KillLeader(ctx, life context.Context) error {
	killed, err := t.Leader(ctx)
	if err != nil {
		return err
	}
	killed.Kill()
	lease, err := t.lease(ctx)
	if err != nil {
		return err
	}
	if err := t.Client.Delete(ctx, lease); client.IgnoreNotFound(err) != nil {
		return err
	}
	t.Leave(killed)
	if err := t.Fill(life); err != nil {
		return err
	}
	if leader, err := t.Leader(ctx); err != nil || leader == killed {
		return errors.Join(err, fmt.Errorf("%s was killed: another one must lead", killed.ID))
	}
	return nil
}

// Renew stops every replica in order, and returns when one of two new ones leads; life is how long
// they live. While no replica runs, between may change the world; it may be nil.
func (t *Replicas) Renew(ctx, life context.Context, between func()) error {
	for _, replica := range t.Running() {
		t.Leave(replica)
	}
	if between != nil {
		between()
	}
	if err := t.Fill(life); err != nil {
		return err
	}
	_, err := t.Leader(ctx)
	return err
}

func (t *Replicas) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	var lease coordinationv1.Lease
	err := t.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: leaseName}, &lease)
	return &lease, err
}
