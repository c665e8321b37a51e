// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
)

// observedLease is the Lease as this replica last saw it, and since when it has been like that. Only
// the replica's own clock counts: the times in the Lease are another machine's.
type observedLease struct {
	known bool
	lease *coordinationv1.Lease // nil where there is none
	since time.Time
}

// update returns the sighting after the Lease was seen at a time. A Lease whose spec is as before
// has not been renewed, and the time goes on.
func (s observedLease) update(lease *coordinationv1.Lease, now time.Time) observedLease {
	next := observedLease{known: true, lease: lease, since: now}
	if s.known && s.lease != nil && lease != nil && equality.Semantic.DeepEqual(s.lease.Spec, lease.Spec) {
		next.since = s.since
	}
	return next
}

// expiresIn returns how long to wait before the Lease may be taken: nothing where it is not held,
// and its own duration after it was last seen to be renewed. What was never seen is not free.
func (s observedLease) expiresIn(now time.Time, unknown time.Duration) time.Duration {
	if !s.known {
		return unknown
	}
	if holder(s.lease) == "" {
		return 0
	}
	duration := time.Duration(ptr.Deref(s.lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return max(0, s.since.Add(duration).Sub(now))
}
