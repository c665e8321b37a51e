// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// lock is the Lease as client-go's elector reads and writes it, one call at a time. It is client-go's LeaseLock, and:
//
//   - What another writer removed from the Lease never makes it free: see record.
//   - Its own term is known by the time of acquisition, and not by the identity alone.
//   - Each write that succeeds extends the fence. A Lease that is another one's ends the term.
type lock struct {
	*Elector
	self *metav1.OwnerReference // this replica's Pod, for life

	stored   *coordinationv1.Lease // as last read or written; nil where there is none
	seen     *coordinationv1.Lease // as last read, also where it was deleted since
	acquired metav1.MicroTime      // as this replica wrote it last
	held     bool                  // whether that write succeeded
	sent     time.Duration         // when the last write that succeeded was sent
	failing  bool
}

var _ resourcelock.Interface = &lock{}

func (l *lock) Identity() string { return l.options.Identity }
func (l *lock) Describe() string { return l.options.Namespace + "/" + l.options.Name }

// Get reads the Lease. A candidate reads one that was deleted as it last was: its holder makes it again.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	absent := error(nil)
	lease, err := l.request(ctx, "get", func(ctx context.Context) (*coordinationv1.Lease, error) {
		lease, err := l.leases.Get(ctx, l.options.Name, metav1.GetOptions{})
		if apistatus.IsAbsent(err, coordinationv1.Resource("leases"), l.options.Name) {
			absent, lease, err = err, nil, nil
		}
		return lease, err
	})
	if err != nil {
		return nil, nil, err
	}
	switch l.stored = lease; {
	case lease != nil:
		l.seen = lease
	case l.held || l.seen == nil:
		return nil, nil, absent
	}
	if l.held && !l.isOwn(lease) {
		l.lose(fmt.Errorf("%w: %q", ErrTaken, ptr.Deref(lease.Spec.HolderIdentity, "")))
		return nil, nil, ErrTaken
	}
	record := l.record(l.seen)
	if !l.held && l.self != nil {
		if err := l.judgeOwner(ctx, record); err != nil {
			return nil, nil, err
		}
	}
	// client-go counts from when this changes. Its record has whole seconds alone.
	raw, err := json.Marshal(l.seen.Spec)
	return record, fmt.Appendf(raw, "%d", record.LeaseDurationSeconds), err
}

// record returns what client-go decides by. The duration of this replica counts in place of one that is absent or shorter,
// and so does an unknown holder in place of one that is absent: who releases the Lease writes an empty name. Both may have
// been removed by another writer while the holder still acts.
func (l *lock) record(lease *coordinationv1.Lease) *resourcelock.LeaderElectionRecord {
	r := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	r.LeaseDurationSeconds = max(r.LeaseDurationSeconds, int(l.options.LeaseDuration/time.Second))
	if slices.ContainsFunc(lease.OwnerReferences, isPod) && (l.stored != nil || l.self != nil) {
		r.LeaseDurationSeconds = lifeDurationSeconds // the Pod decides, not a duration that was edited
	}
	// The API server refuses a number that is negative or too large.
	r.LeaderTransitions = min(max(r.LeaderTransitions, 0), math.MaxInt32-1)
	switch {
	case lease.Spec.HolderIdentity == nil:
		r.HolderIdentity = "unknown"
	case r.HolderIdentity == l.options.Identity && !l.isOwn(lease):
		r.HolderIdentity += " (another process)"
	}
	return r
}

// isOwn reports whether the Lease is of this term. Another process may have the same identity.
func (l *lock) isOwn(lease *coordinationv1.Lease) bool {
	return ptr.Deref(lease.Spec.HolderIdentity, "") == l.options.Identity && lease.Spec.AcquireTime.Equal(&l.acquired)
}

// Create makes the Lease.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.stored = nil
	return l.write(ctx, record)
}

// Update renews the Lease, or takes the one that was read. A leader renews once in each retry period, and looks after its
// Lease for life as often; client-go asks as often as a candidate reads.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	switch {
	case l.held && l.options.Elapsed()-l.sent < l.options.RetryPeriod-l.options.PollPeriod/2:
		return nil
	case l.held && l.self != nil:
		l.confirm(ctx, record)
		return nil
	}
	return l.write(ctx, record)
}

// write writes the Lease for this replica. The API server refuses it where the Lease has changed since it was read. An
// answer that comes too late counts as none: the Lease may be another one's by then.
func (l *lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if !l.held {
		l.acquired = metav1.NewMicroTime(record.AcquireTime.Truncate(time.Microsecond))
	}
	spec := resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	spec.AcquireTime = &l.acquired
	var owners []metav1.OwnerReference
	if l.self != nil {
		spec.LeaseDurationSeconds, owners = ptr.To[int32](lifeDurationSeconds), append(owners, *l.self)
	}
	sent := l.options.Elapsed()
	lease, err := l.put(ctx, spec, owners)
	if late := l.options.Elapsed() - sent; err == nil && l.self == nil && late >= l.options.RenewDeadline {
		err = fmt.Errorf("the answer came %s after the request, when the Lease may be another one's", late.Round(time.Millisecond))
	}
	if err != nil {
		return err
	}
	l.stored, l.seen, l.held, l.sent = lease, lease, true, sent
	if l.self != nil {
		l.fence.extend(unlimited)
	} else {
		l.fence.extend(sent + l.options.RenewDeadline)
	}
	return nil
}

// put creates the Lease, or updates the one that was read last. owners replace any Pod that owned it.
func (l *lock) put(ctx context.Context, spec coordinationv1.LeaseSpec, owners []metav1.OwnerReference) (*coordinationv1.Lease, error) {
	if l.stored == nil {
		meta := metav1.ObjectMeta{Namespace: l.options.Namespace, Name: l.options.Name, OwnerReferences: owners}
		return l.request(ctx, "create", func(ctx context.Context) (*coordinationv1.Lease, error) {
			return l.leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: meta, Spec: spec}, metav1.CreateOptions{})
		})
	}
	lease := l.stored.DeepCopy()
	lease.Spec, lease.OwnerReferences = spec, append(slices.DeleteFunc(lease.OwnerReferences, isPod), owners...)
	return l.request(ctx, "update", func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	})
}

// request bounds a request, and logs the first of several failures: an API server may be away for an hour.
func (l *lock) request(
	ctx context.Context, verb string, send func(context.Context) (*coordinationv1.Lease, error),
) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.RenewDeadline/2)
	defer cancel()
	sent := l.options.Elapsed()
	lease, err := send(ctx)
	if l.options.Record != nil {
		l.options.Record(verb, sent, lease, err)
	}
	switch {
	case err == nil:
		l.failing = false
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		l.options.Logger.V(1).Info("the Lease has changed since it was read", "lease", l.Describe())
	case !l.failing && !errors.Is(ctx.Err(), context.Canceled):
		l.failing = true
		l.options.Logger.Error(err, "cannot "+verb+" the Lease; retrying", "lease", l.Describe(), "leads", l.held)
	}
	return lease, err
}

// lose ends the term.
func (l *lock) lose(reason error) {
	select {
	case l.lost <- reason:
	default:
	}
}

// release clears the holder as client-go does, so that any elector takes the Lease at once. It removes the Pod that owns
// it, or the garbage collector would delete the Lease of the next leader. A user may have set a label since it was read.
func (l *lock) release(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		if l.stored == nil {
			return nil
		}
		now := metav1.NowMicro()
		spec := coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(""), LeaseDurationSeconds: ptr.To(int32(1)), AcquireTime: &now, RenewTime: &now,
			LeaseTransitions: l.stored.Spec.LeaseTransitions,
		}
		_, err := l.put(ctx, spec, nil)
		if apierrors.IsConflict(err) && attempt == 0 {
			_, _, err = l.Get(ctx)
			if err == nil {
				continue
			}
		}
		if apierrors.IsNotFound(err) || errors.Is(err, ErrTaken) {
			return nil
		}
		return err
	}
}
