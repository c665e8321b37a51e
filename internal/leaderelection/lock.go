// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// Lock is the Lease as client-go's elector reads and writes it, one call at a time. The elector belongs to an Elector
// or to a Manager. A Lock is client-go's LeaseLock with these differences:
//
//   - What another writer removed from the Lease never makes it free: see record.
//   - Its own term is known by the time of acquisition, and not by the identity alone.
//   - Each write that succeeds extends the fence. A Lease that is another one's ends the term, and so does its release.
type Lock struct {
	options Options
	leases  coordinationv1client.LeaseInterface
	fence   fence
	pending sync.WaitGroup         // announcements that are not written yet
	lost    chan error             // receives why the Lease is lost
	over    atomic.Bool            // whether the Lease is lost
	leader  atomic.Pointer[string] // the holder as last read or written
	self    *metav1.OwnerReference // this replica's Pod, in the mode for life

	transitions prometheus.Counter

	stored   *coordinationv1.Lease // as last read or written; nil if there is none
	seen     *coordinationv1.Lease // as last read, even if it was deleted since
	acquired metav1.MicroTime      // the acquireTime that this replica wrote last
	held     bool                  // whether that write succeeded
	sent     time.Duration         // when the last write that succeeded was sent
	failing  bool
}

var _ resourcelock.Interface = &Lock{}

// NewLock returns a Lock, or an error that names the option that is invalid. Pass the durations of the options to the
// elector that uses the Lock too, with PollPeriod as its RetryPeriod.
func NewLock(o Options) (*Lock, error) {
	switch {
	case o.LeaseDuration%time.Second != 0:
		return nil, fmt.Errorf("election: lease duration %s must be whole seconds", o.LeaseDuration)
	case o.Life != nil && o.Life.Pod == "":
		return nil, errors.New("election for life: the name of this Pod is unknown; " + remedy)
	}
	o.PollPeriod = cmp.Or(o.PollPeriod, o.RetryPeriod)
	if o.Elapsed == nil {
		o.Elapsed = newElapsed()
	}
	l := &Lock{
		options: o, leases: o.Leases.Leases(o.Namespace), lost: make(chan error, 1),
		transitions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_leader_transitions_total",
			Help: "How often this replica saw a new leader, itself included.",
		}),
	}
	if o.Metrics == nil {
		return l, nil
	}
	return l, errors.Join(o.Metrics.Register(l.transitions), o.Metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fairlead_leader",
		Help: "1 while this replica leads and reconciles, otherwise 0.",
	}, func() float64 {
		if l.Check() == nil {
			return 1
		}
		return 0
	})))
}

// Identity returns the identity of this replica.
func (l *Lock) Identity() string { return l.options.Identity }

// Describe returns the namespace and name of the Lease.
func (l *Lock) Describe() string { return l.options.Namespace + "/" + l.options.Name }

// Status returns who leads, as a short text.
func (l *Lock) Status() string {
	switch leader := ptr.Deref(l.leader.Load(), ""); {
	case l.Check() == nil:
		return l.options.Identity + " (this replica)"
	case leader == "":
		return "none yet"
	default:
		return leader
	}
}

// Check returns nil if this replica leads at the time of the call. Call it before each write. After the process was
// stopped or the machine slept, Check detects a lost Lease before the timers fire. A stop between Check and the sending
// of the request remains possible.
func (l *Lock) Check() error { return l.fence.check(l.options.Elapsed()) }

// Watch returns an error that wraps ErrLost as soon as the Lease is lost, and nil when ctx ends. Call it once this
// replica leads. client-go's elector notices a loss later.
func (l *Lock) Watch(ctx context.Context) error {
	deadline := time.NewTimer(l.fence.left(l.options.Elapsed()))
	defer deadline.Stop()
	for {
		var reason error
		select {
		case <-ctx.Done():
			return nil
		case reason = <-l.lost:
		case <-deadline.C:
			if left := l.fence.left(l.options.Elapsed()); left > 0 {
				deadline.Reset(left)
				continue
			}
			reason = fmt.Errorf("not renewed for %s", l.options.RenewDeadline)
		}
		l.over.Store(true)
		l.fence.close()
		l.options.Logger.Error(reason, "the Lease is lost", "lease", l.Describe())
		return fmt.Errorf("%w: %w", ErrLost, reason)
	}
}

// Wait returns when all announcements are written or have failed.
func (l *Lock) Wait() { l.pending.Wait() }

// observe records the holder of the Lease; it is empty if there is none.
func (l *Lock) observe(holder string) {
	if before := l.leader.Swap(&holder); holder == "" || ptr.Deref(before, "") == holder {
		return
	}
	l.transitions.Inc()
	l.options.Logger.Info("new leader", "lease", l.Describe(), "leader", holder, "self", holder == l.options.Identity)
}

// Get reads the Lease. After a loss it fails without a request, so that nothing waits for an API server that is away.
// If the Lease was deleted, a candidate gets its last state: the holder creates it again.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.over.Load() {
		return nil, nil, ErrLost
	}
	if !l.held && l.options.Ready != nil {
		select {
		case <-l.options.Ready:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
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
	if lease != nil {
		l.observe(ptr.Deref(lease.Spec.HolderIdentity, "unknown"))
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
	// client-go measures the lease duration from the last change of these bytes. Its record has whole seconds only.
	raw, err := json.Marshal(l.seen.Spec)
	return record, fmt.Appendf(raw, "%d", record.LeaseDurationSeconds), err
}

// record returns the record by which client-go decides. If the duration in the Lease is absent or shorter, that of this
// replica counts. If the holder is absent, an unknown one counts: a release writes an empty name instead. Another
// writer may have removed both while the holder still acts.
func (l *Lock) record(lease *coordinationv1.Lease) *resourcelock.LeaderElectionRecord {
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

// isOwn reports whether the Lease is that of this term. Another process may have the same identity.
func (l *Lock) isOwn(lease *coordinationv1.Lease) bool {
	return ptr.Deref(lease.Spec.HolderIdentity, "") == l.options.Identity && lease.Spec.AcquireTime.Equal(&l.acquired)
}

// Create creates the Lease.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.stored = nil
	return l.write(ctx, record)
}

// Update renews the Lease, acquires the one that was read, or releases it if the record has no holder. client-go calls
// it as often as a candidate reads. It sends a request only once in each retry period.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	switch {
	case l.over.Load():
		return ErrLost
	case record.HolderIdentity == "":
		return l.release(ctx)
	case l.held && l.options.Elapsed()-l.sent < l.options.RetryPeriod-l.options.PollPeriod/2:
		return nil
	case l.held && l.self != nil:
		l.confirm(ctx, record)
		return nil
	}
	return l.write(ctx, record)
}

// write writes the Lease for this replica. The API server refuses it if the Lease has changed since it was read. A
// response that comes too late counts as none: another replica may hold the Lease by then.
func (l *Lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
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
	l.observe(l.options.Identity)
	if l.self != nil {
		l.fence.extend(unlimited)
	} else {
		l.fence.extend(sent + l.options.RenewDeadline)
	}
	return nil
}

// put creates the Lease, or updates the one that was last read. owners replace the Pod that owned it.
func (l *Lock) put(ctx context.Context, spec coordinationv1.LeaseSpec, owners []metav1.OwnerReference) (*coordinationv1.Lease, error) {
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

// request runs a request with a timeout, and logs only the first of several failures: an API server may be away for an
// hour.
func (l *Lock) request(
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
func (l *Lock) lose(reason error) {
	select {
	case l.lost <- reason:
	default:
	}
}

// release shuts the fence and clears the holder as client-go does, so that any elector takes the Lease at once. It also
// removes the Pod as its owner, or the garbage collector would delete the Lease of the next leader. If it fails, the
// Lease expires.
func (l *Lock) release(ctx context.Context) error {
	l.fence.close()
	if !l.held {
		return nil
	}
	l.held = false
	err := l.clear(ctx)
	if apierrors.IsConflict(err) { // a user may have set a label since it was read
		l.held = true // only a Lease of this term is cleared
		if _, _, err = l.Get(ctx); err == nil {
			err = l.clear(ctx)
		}
		l.held = false
	}
	if apierrors.IsNotFound(err) || errors.Is(err, ErrTaken) {
		return nil
	}
	if err != nil {
		l.options.Logger.Error(err, "cannot release the Lease: it runs out by itself", "lease", l.Describe(), "in", l.options.LeaseDuration)
		return err
	}
	l.observe("")
	l.options.Logger.Info("Lease released", "lease", l.Describe())
	return nil
}

func (l *Lock) clear(ctx context.Context) error {
	if l.stored == nil {
		return nil
	}
	now := metav1.NowMicro()
	_, err := l.put(ctx, coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To(""), LeaseDurationSeconds: ptr.To(int32(1)), AcquireTime: &now, RenewTime: &now,
		LeaseTransitions: l.stored.Spec.LeaseTransitions,
	}, nil)
	return err
}
