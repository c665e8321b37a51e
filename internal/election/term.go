// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// term is one time of holding the Lease.
type term struct {
	lease *coordinationv1.Lease
	// acquired tells this term from another one of the same identity: two replicas that were
	// given the same name must not renew each other's Lease.
	acquired metav1.MicroTime
	// renewed is when the last renewal that succeeded was sent. Others count from when they see
	// it, so from later.
	renewed time.Time
}

func (e *Elector) get(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := e.leases.Get(ctx, e.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return lease, err
}

// take writes this replica into the Lease as it was seen, or creates it. It fails where somebody
// else was faster.
func (e *Elector) take(ctx context.Context, seen *coordinationv1.Lease) (*term, error) {
	now := e.Clock.Now()
	acquired := metav1.NewMicroTime(now.Truncate(time.Microsecond))
	spec := coordinationv1.LeaseSpec{
		HolderIdentity:       ptr.To(e.Identity),
		LeaseDurationSeconds: ptr.To(int32(e.LeaseDuration / time.Second)),
		AcquireTime:          &acquired,
		RenewTime:            &acquired,
		LeaseTransitions:     ptr.To(int32(0)),
	}
	if seen != nil {
		spec.LeaseTransitions = ptr.To(ptr.Deref(seen.Spec.LeaseTransitions, 0) + 1)
	}
	lease, err := e.put(ctx, seen, spec)
	if err != nil {
		return nil, err
	}
	return &term{lease: lease, acquired: acquired, renewed: now}, nil
}

// put creates the Lease, or updates the one that was read; the API server refuses the update
// where it has changed since.
func (e *Elector) put(ctx context.Context, read *coordinationv1.Lease, spec coordinationv1.LeaseSpec) (*coordinationv1.Lease, error) {
	if read == nil {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}, Spec: spec}
		return e.leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	lease := read.DeepCopy()
	lease.Spec = spec
	return e.leases.Update(ctx, lease, metav1.UpdateOptions{})
}

// renew answers the term with its Lease renewed, or ErrTaken.
func (e *Elector) renew(ctx context.Context, t term) (term, error) {
	now := e.Clock.Now()
	spec := t.lease.Spec
	spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
	lease, err := e.rewrite(ctx, t, spec)
	if err != nil {
		return t, err
	}
	return term{lease: lease, acquired: t.acquired, renewed: now}, nil
}

// release gives the Lease up, in the form that client-go gives it up, so that any elector takes
// it at once.
func (e *Elector) release(ctx context.Context, t term) error {
	now := metav1.NewMicroTime(e.Clock.Now())
	spec := t.lease.Spec
	spec.HolderIdentity = ptr.To("")
	spec.LeaseDurationSeconds = ptr.To(int32(1))
	spec.AcquireTime, spec.RenewTime = &now, &now
	_, err := e.rewrite(ctx, t, spec)
	if errors.Is(err, ErrTaken) {
		return nil
	}
	return err
}

// rewrite writes the spec into the Lease of this term. Where the Lease has changed since, it is
// read again, and written only where it is still of this term: somebody may have put a label on
// it, or an answer of ours was lost on the way.
func (e *Elector) rewrite(ctx context.Context, t term, spec coordinationv1.LeaseSpec) (*coordinationv1.Lease, error) {
	lease, err := e.put(ctx, t.lease, spec)
	if err == nil || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return lease, err
	}
	current, err := e.get(ctx)
	if err != nil {
		return nil, err
	}
	if current != nil && !t.holds(e.Identity, current) {
		return nil, ErrTaken
	}
	return e.put(ctx, current, spec)
}

// holds says whether the Lease is of this term.
func (t term) holds(identity string, lease *coordinationv1.Lease) bool {
	return holder(lease) == identity && lease.Spec.AcquireTime.Equal(&t.acquired)
}

func holder(lease *coordinationv1.Lease) string {
	if lease == nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}
