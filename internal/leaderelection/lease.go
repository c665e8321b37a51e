// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// term is one period of holding the Lease.
type term struct {
	lease *coordinationv1.Lease
	// acquired distinguishes this term from another one of the same identity: two replicas with the same
	// name must not renew each other's Lease.
	acquired metav1.MicroTime
	// renewed is when the last successful renewal was sent. Candidates count from when they observe it,
	// which is later.
	renewed time.Time
	// sent is the same instant by the clock of the guard, and validity how long after it this replica may
	// act.
	sent, validity time.Duration
}

func (e *Elector) getLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := e.leases.Get(ctx, e.options.Name, metav1.GetOptions{})
	if apistatus.IsAbsent(err, coordinationv1.Resource("leases"), e.options.Name) {
		return nil, nil
	}
	return lease, err
}

// acquire writes this replica into the observed Lease, or creates it. It fails where another replica was
// faster. owners replace any Pod that owned the Lease before.
func (e *Elector) acquire(ctx context.Context, seen *coordinationv1.Lease, duration int32, owners ...metav1.OwnerReference) (*term, error) {
	t := e.newTerm()
	t.acquired = metav1.NewMicroTime(e.wallClock().Truncate(time.Microsecond))
	spec := coordinationv1.LeaseSpec{
		HolderIdentity:       ptr.To(e.options.Identity),
		LeaseDurationSeconds: ptr.To(duration),
		AcquireTime:          &t.acquired,
		RenewTime:            &t.acquired,
		LeaseTransitions:     ptr.To(int32(0)),
	}
	if seen != nil {
		// Another writer may have set any number, and the API server refuses a negative one.
		spec.LeaseTransitions = ptr.To(min(max(ptr.Deref(seen.Spec.LeaseTransitions, 0), 0), math.MaxInt32-1) + 1)
	}
	var err error
	if t.lease, err = e.writeLease(ctx, seen, spec, owners...); err != nil {
		return nil, err
	}
	if late := e.options.Elapsed() - t.sent; late >= t.validity {
		return nil, fmt.Errorf("the answer came %s after the request, when the Lease may be another one's", late.Round(time.Millisecond))
	}
	return &t, nil
}

// newTerm returns a term that is written now.
func (e *Elector) newTerm() term {
	return term{sent: e.options.Elapsed(), renewed: e.options.Clock.Now(), validity: e.leaseValidity()}
}

// writeLease creates the Lease, or updates the one that was read; the API server refuses the update where it
// has changed since.
func (e *Elector) writeLease(
	ctx context.Context, read *coordinationv1.Lease, spec coordinationv1.LeaseSpec, owners ...metav1.OwnerReference,
) (*coordinationv1.Lease, error) {
	if read == nil {
		meta := metav1.ObjectMeta{Namespace: e.options.Namespace, Name: e.options.Name, OwnerReferences: owners}
		return e.leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: meta, Spec: spec}, metav1.CreateOptions{})
	}
	lease := read.DeepCopy()
	lease.Spec = spec
	lease.OwnerReferences = append(slices.DeleteFunc(lease.OwnerReferences, isPod), owners...)
	return e.leases.Update(ctx, lease, metav1.UpdateOptions{})
}

// renew returns the term with its Lease renewed, or ErrTaken.
func (e *Elector) renew(ctx context.Context, t term) (term, error) {
	next := e.newTerm()
	next.acquired = t.acquired
	spec := t.lease.Spec
	spec.RenewTime = ptr.To(metav1.NewMicroTime(e.wallClock()))
	var err error
	if next.lease, err = e.updateOwnLease(ctx, t, spec); err != nil {
		return t, err
	}
	return next, nil
}

// release clears the holder as client-go does, so that any elector acquires the Lease at once. It removes
// the owning Pod, or the garbage collector would delete the Lease of the next leader.
func (e *Elector) release(ctx context.Context, t term) error {
	now := metav1.NewMicroTime(e.wallClock())
	spec := t.lease.Spec
	spec.HolderIdentity = ptr.To("")
	spec.LeaseDurationSeconds = ptr.To(int32(1))
	spec.AcquireTime, spec.RenewTime = &now, &now
	_, err := e.updateOwnLease(ctx, t, spec)
	if errors.Is(err, ErrTaken) {
		return nil
	}
	return err
}

// updateOwnLease writes the spec into the Lease of this term. After a conflict the Lease is read again, and
// written only where it is still of this term: a user may have set a label, or a response of ours was lost.
func (e *Elector) updateOwnLease(ctx context.Context, t term, spec coordinationv1.LeaseSpec) (*coordinationv1.Lease, error) {
	lease, err := e.writeLease(ctx, t.lease, spec)
	if err == nil || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return lease, err
	}
	current, err := e.getLease(ctx)
	if err != nil {
		return nil, err
	}
	if current != nil && !t.isHeld(e.options.Identity, current) {
		return nil, ErrTaken
	}
	return e.writeLease(ctx, current, spec)
}

// isHeld reports whether the Lease is of this term.
func (t term) isHeld(identity string, lease *coordinationv1.Lease) bool {
	return holder(lease) == identity && lease.Spec.AcquireTime.Equal(&t.acquired)
}

func holder(lease *coordinationv1.Lease) string {
	if lease == nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// observedLease is the Lease as this replica last read it, and since when its spec has been the same. Only
// the replica's own clock counts: the times in the Lease are those of another machine.
type observedLease struct {
	known bool
	lease *coordinationv1.Lease // nil where there is none
	since time.Time
	// owner is the Pod that owned the Lease when it was last read; nil where none did.
	owner *metav1.OwnerReference
	// free is when one that was deleted would have expired.
	free time.Time
}

// update returns the observation after the Lease was read. A Lease with the same spec was not renewed, and
// its time continues. That it was deleted does not mean that its holder has stopped: it makes the Lease again. own is as in
// expiresIn.
func (o observedLease) update(lease *coordinationv1.Lease, now time.Time, own time.Duration) observedLease {
	next := observedLease{known: true, lease: lease, since: now, owner: podOwner(lease)}
	if lease == nil {
		next.owner = o.owner
	}
	switch {
	case lease == nil && o.lease == nil:
		next.free = o.free
	case lease == nil:
		next.free = now.Add(o.expiresIn(now, own))
	case o.lease != nil && equality.Semantic.DeepEqual(o.lease.Spec, lease.Spec):
		next.since = o.since
	}
	return next
}

// expiresIn returns how long to wait before the Lease may be acquired: zero where it was released or there is none,
// otherwise its duration after the last observed renewal. own is the duration of this replica. It counts where no Lease was
// read yet, and in place of a duration that is absent or shorter: another writer may have removed or set it, and the
// holder still acts. So it may where its name is absent: who releases the Lease writes an empty one.
func (o observedLease) expiresIn(now time.Time, own time.Duration) time.Duration {
	switch {
	case !o.known:
		return own
	case o.lease == nil:
		return max(0, o.free.Sub(now))
	case o.lease.Spec.HolderIdentity != nil && *o.lease.Spec.HolderIdentity == "":
		return 0
	}
	duration := max(own, time.Duration(ptr.Deref(o.lease.Spec.LeaseDurationSeconds, 0))*time.Second)
	return max(0, o.since.Add(duration).Sub(now))
}

// unlimited is longer than any process runs.
const unlimited = time.Duration(1<<63 - 1)

// writeGuard limits until when this replica may act. It expires by a clock that runs also while the process
// is stopped. Distributed systems call that fencing.
type writeGuard struct {
	mu      sync.Mutex
	allowed bool
	until   time.Duration
}

// allow extends the guard for the validity of a term that was written.
func (w *writeGuard) allow(t term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.allowed, w.until = true, unlimited
	if t.validity < unlimited-t.sent {
		w.until = t.sent + t.validity
	}
}

func (w *writeGuard) revoke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.allowed = false
}

func (w *writeGuard) check(now time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.allowed:
		return ErrNotLeading
	case now >= w.until:
		return fmt.Errorf("%w: its Lease should have been renewed %s ago", ErrNotLeading, (now - w.until).Round(time.Millisecond))
	default:
		return nil
	}
}

// leaseValidity is how long after a write of the Lease this replica may act.
func (e *Elector) leaseValidity() time.Duration {
	if e.options.Life != nil {
		return unlimited
	}
	return e.options.RenewDeadline
}

// withTimeout runs a request for at most a limit. It returns at the limit even where the request ignores its
// context: the election must not hang with a connection.
func withTimeout[T any](ctx context.Context, by clock.Clock, limit time.Duration, request func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		var got answer
		got.err = panics.Try("election", func() (err error) {
			got.value, err = request(ctx)
			return err
		})
		answers <- got
	}()
	timer := by.NewTimer(limit)
	defer timer.Stop()
	var none T
	select {
	case got := <-answers:
		return got.value, got.err
	case <-timer.C():
		return none, fmt.Errorf("no answer from the API server within %s", limit)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// recoverPanic runs the work and returns a panic as an error, so that the Lease is released.
func recoverPanic(ctx context.Context, work func(context.Context) error) error {
	return panics.Try("leading", func() error { return work(ctx) })
}

// resetTimer resets a timer whether or not it has fired.
func resetTimer(timer clock.Timer, d time.Duration) {
	if !timer.Stop() {
		select {
		case <-timer.C():
		default:
		}
	}
	timer.Reset(d)
}
