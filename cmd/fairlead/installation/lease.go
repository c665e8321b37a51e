// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// LeaseOf returns the Lease by which the replicas of a Deployment in a namespace elect their leader.
func LeaseOf(election options.LeaderElection, namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(election.ResourceNamespace, namespace), Name: election.ResourceName}
}

// Tenure is the leader that a Lease names, and when it last renewed the Lease.
type Tenure struct {
	// Holder is the replica that leads; empty where none does.
	Holder string
	// Renewed is when the Lease was last written by a leader; zero where the Lease does not say.
	Renewed time.Time
	// Age is how long ago that was.
	Age time.Duration
	// IsSilent: the leader has not renewed the Lease for longer than it lasts. The clock of this machine may differ: whether the
	// Lease is renewed is seen by reading it again.
	IsSilent bool
	// IsAhead: the leader has renewed it further in the future than it lasts, by a clock that is ahead.
	IsAhead bool
}

// TenureOf reads a Lease.
func TenureOf(lease *coordinationv1.Lease, election options.LeaderElection, now time.Time) Tenure {
	t := Tenure{Holder: ptr.Deref(lease.Spec.HolderIdentity, "")}
	if lease.Spec.RenewTime != nil {
		t.Renewed = lease.Spec.RenewTime.Time
	}
	t.Age = now.Sub(t.Renewed)
	if election.Mode == options.ElectionForLife {
		return t // it is not renewed
	}
	// The other replicas wait for as long as their own duration or that of the Lease, whichever is longer.
	lasts := max(election.LeaseDuration.Duration, time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0))*time.Second)
	t.IsSilent, t.IsAhead = t.Age > lasts, t.Age < -lasts
	return t
}
