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

// ErrLost means that the Lease was lost while this replica led: it could not be renewed in time, or another replica
// holds it.
var ErrLost = errors.New("leader election lost")

// ErrTaken means that another replica holds the Lease. Where the Lease was lost that way, the error wraps it as well as
// ErrLost: no time is left then, unlike after a failed renewal.
var ErrTaken = errors.New("the Lease is held by another replica")

// errEnded means that the election has ended by itself, as by a panic in a request.
var errEnded = errors.New("the election has ended")

// Options configure a Lock.
type Options struct {
	// Leases is the client. It must not share a rate limit with the reconcilers. Every request is bounded here.
	Leases coordinationv1client.LeasesGetter
	// Namespace and Name are those of the Lease. It is created where it does not exist.
	Namespace, Name string
	// Identity names this replica. Two with the same identity never lead at the same time, but the second
	// waits until the Lease of the first expires, also when the first has crashed.
	Identity string

	// LeaseDuration is how long candidates wait for a leader that does not renew, in whole seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long after its last renewal a leader stops. It is less than LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod is the time between renewals.
	RetryPeriod time.Duration
	// PollPeriod is how often a candidate reads the Lease; the time in between is 1 to 2.2 times as long. Defaults to
	// RetryPeriod.
	PollPeriod time.Duration
	// Ready is closed when a candidate may read the Lease, which is when it could lead. Defaults to nil: at once.
	Ready <-chan struct{}

	// Life makes the Lease belong to the leader's Pod instead of being renewed. The durations above then
	// bound requests and retries only. Defaults to nil: the Lease is renewed.
	Life *Life

	// Announce is called when a replica begins and stops leading, in a goroutine of its own and bounded by
	// its context. Defaults to nil.
	Announce Announcer
	// Metrics registers fairlead_leader and fairlead_leader_transitions_total. Defaults to nil.
	Metrics prometheus.Registerer
	// Logger logs leaders and failures.
	Logger logr.Logger
	// Record is called with each request for the Lease, when it was sent, and what it returned; a Lease that does not
	// exist is nil. Defaults to nil.
	Record func(verb string, sent time.Duration, lease *coordinationv1.Lease, err error)
	// Elapsed is a clock that cannot be set and that runs while the machine sleeps, which Go's clock may not do.
	// It decides whether this replica may act. Defaults to the system's.
	Elapsed func() time.Duration
}

// Elector takes part in one election, once, and runs work while it leads.
type Elector struct {
	*Lock
	elector  *leaderelection.LeaderElector
	acquired chan struct{} // closed when this replica has the Lease
}

// New returns an Elector, or an error that names the option that is invalid.
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

// Run waits until this replica leads, and then runs lead until ctx ends, the Lease is lost or lead returns.
// The context of lead is canceled at once in each case, and Run waits for lead to return; the Lease is
// renewed meanwhile, and released after.
//
// It returns nil when ctx ended, an error that wraps ErrLost when the Lease was lost, and the error of lead where lead
// returned one.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	defer e.Wait()
	if err := e.FindPod(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	// It ends with ctx while this replica waits, and then goes on until the work has ended. The lock logs for client-go.
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
		_ = e.release(context.WithoutCancel(ctx)) // which logs why it fails
	}
	return err
}

// work runs lead until it has returned, and reports whether the Lease is to be released. It ends the election where the
// Lease is lost, which it leaves alone.
func (e *Elector) work(
	ctx context.Context, lead func(context.Context) error, over <-chan struct{}, endElection func(),
) (release bool, err error) {
	// Until the work has ended, this replica must still lead: its context outlives ctx.
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
