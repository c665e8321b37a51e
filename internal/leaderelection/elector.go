// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// ErrLost means that this replica led and lost the Lease: it could not be renewed in time, or another replica holds it.
var ErrLost = errors.New("leader election lost")

// ErrTaken means that another replica holds the Lease. If this replica lost the Lease to it, the error wraps ErrLost as
// well. No time is left to end the work then, unlike after a failed renewal.
var ErrTaken = errors.New("the Lease is held by another replica")

// errEnded means that the election has ended by itself, such as by a panic in a request.
var errEnded = errors.New("the election has ended")

// Options of New and NewLock.
type Options struct {
	// Leases is the client for Leases. It must not share a rate limit with the reconcilers. Each request has a timeout.
	Leases coordinationv1client.LeasesGetter
	// Namespace and Name identify the Lease. It is created if it does not exist.
	Namespace, Name string
	// Identity is the holderIdentity of this replica. Two replicas with the same identity never lead at the same time.
	// The second one waits until the Lease of the first expires, even if the first has crashed.
	Identity string

	// LeaseDuration is how long candidates wait for a leader that does not renew the Lease, in whole seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long after its last renewal a leader stops. It must be less than LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod is the time between renewals.
	RetryPeriod time.Duration
	// PollPeriod is how often a candidate reads the Lease. The time between two reads is 1 to 2.2 times as long. Defaults
	// to RetryPeriod.
	PollPeriod time.Duration
	// Ready is closed when this replica could lead, and may thus take part. Defaults to nil: at once.
	Ready <-chan struct{}

	// Life makes the Lease belong to the leader's Pod instead of being renewed. The durations above then only bound
	// requests and retries. Defaults to nil: the Lease is renewed.
	Life *Life

	// Announce is called when a replica begins or stops to lead. It runs in a goroutine of its own, and its context
	// bounds it. Defaults to nil: it is not called.
	Announce Announcer
	// Metrics registers fairlead_leader and fairlead_leader_transitions_total. Defaults to nil.
	Metrics prometheus.Registerer
	// Logger logs leaders and failures.
	Logger logr.Logger
	// Record is called after each request for the Lease, with the time at which it was sent and its result. lease is nil
	// if it does not exist. Defaults to nil: it is not called.
	Record func(verb string, sent time.Duration, lease *coordinationv1.Lease, err error)
	// Elapsed is a clock that cannot be set and that runs while the machine sleeps. Go's clock may stop then. It decides
	// whether this replica may write. Defaults to the clock of the system.
	Elapsed func() time.Duration
}

// Elector takes part in one election, once, and runs work while it leads.
type Elector struct {
	*Lock
	elector  *leaderelection.LeaderElector
	acquired chan struct{} // closed when this replica has the Lease
}

// New returns an Elector. It returns an error that names the option that is invalid.
func New(o Options) (*Elector, error) {
	lock, err := NewLock(o)
	if err != nil {
		return nil, err
	}
	e := &Elector{Lock: lock, acquired: make(chan struct{})}
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: o.Name, LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: lock.options.PollPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(e.acquired) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("election: lease duration %s, renew deadline %s, retry period %s: %w",
			o.LeaseDuration, o.RenewDeadline, o.RetryPeriod, err)
	}
	return e, nil
}

// Run waits until this replica leads, and then runs lead. It cancels the context of lead when ctx ends or the Lease is
// lost, and waits for lead to return. It renews the Lease until then, and releases it after that.
//
// It returns nil when ctx has ended, and an error that wraps ErrLost if the Lease was lost. If lead returns an error,
// it returns that.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	defer e.Wait()
	if err := e.FindPod(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	// While this replica waits, the election ends with ctx. Once it leads, the election goes on until the work has ended.
	// The lock logs for client-go.
	electing, stop := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	waits := context.AfterFunc(ctx, stop)
	over := make(chan struct{})
	go func() {
		defer close(over)
		panics.Go("election", func() { e.elector.Run(electing) })
	}()
	var err error
	release := true
	select {
	case <-e.acquired:
		if waits() {
			release, err = e.work(ctx, lead, over, stop)
		}
	case <-over:
		if ctx.Err() == nil {
			err = errEnded
		}
	}
	e.fence.close() // before another replica can acquire the Lease
	stop()
	<-over
	if release && e.held {
		_ = e.release(context.WithoutCancel(ctx)) // release logs why it fails
	}
	return err
}

// work runs lead until it has returned, and reports whether to release the Lease. If the Lease is lost, it ends the
// election and does not release the Lease.
func (e *Elector) work(
	ctx context.Context, lead func(context.Context) error, over <-chan struct{}, endElection func(),
) (release bool, err error) {
	// The context of the election outlives ctx, since this replica must lead until the work has ended.
	working, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(context.Canceled) })()
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	ended, lost := make(chan error, 1), make(chan error, 1)
	go func() { ended <- panics.Try("leading", func() error { return lead(working) }) }()
	go func() { lost <- panics.Try("election", func() error { return e.Watch(watching) }) }()
	var reason error
	select {
	case err := <-ended:
		return true, err
	case reason = <-lost:
	case <-over:
		reason = fmt.Errorf("%w: %w", ErrLost, errEnded)
	}
	e.fence.close()
	end(reason)
	endElection()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		e.options.Logger.Error(err, "what led ended with an error", "lease", e.Describe())
	}
	return false, reason
}
