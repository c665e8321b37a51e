// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// ErrLost is returned by Run when the Lease was lost while this replica led: it could not be renewed in
// time, or another replica holds it.
var ErrLost = errors.New("leader election lost")

// ErrTaken means that another replica holds the Lease. Where the Lease was lost that way, the cause of the
// context wraps it as well as ErrLost: no time is left then, unlike after a failed renewal.
var ErrTaken = errors.New("the Lease is held by another replica")

// ErrStillRunning means that the Lease was lost and the work did not end in time. Another replica may lead
// by now: the caller must end the process at once.
var ErrStillRunning = errors.New("the process must end at once")

// errEnded means that the election has ended by itself, as by a panic in a request.
var errEnded = errors.New("the election has ended")

// Options configure an Elector.
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
	// DrainTimeout bounds how long the work may take to end after its context has ended. After it the Lease is left
	// to expire.
	DrainTimeout time.Duration
	// LossTimeout bounds how long the work may take to end once the Lease is lost. After it Run returns
	// ErrStillRunning. Defaults to half of the time from the renew deadline to the end of the Lease.
	LossTimeout time.Duration

	// Life makes the Lease belong to the leader's Pod instead of being renewed. The durations above then
	// bound requests and retries only. Defaults to nil: the Lease is renewed.
	Life *Life

	// Work names what leading means, in logs and errors. Defaults to "the reconcilers".
	Work string
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

// Elector takes part in one election, once.
type Elector struct {
	options  Options
	leases   coordinationv1client.LeaseInterface
	elector  *leaderelection.LeaderElector
	lock     *lock
	fence    fence
	pending  sync.WaitGroup // of announcements
	lost     chan error     // why the Lease is lost
	acquired chan struct{}  // closed when this replica has the Lease

	leader      prometheus.Gauge
	transitions prometheus.Counter
}

// New returns an Elector, or an error that names the option that is invalid.
func New(o Options) (*Elector, error) {
	switch {
	case o.LeaseDuration%time.Second != 0:
		return nil, fmt.Errorf("election: lease duration %s must be whole seconds", o.LeaseDuration)
	case o.Life != nil && o.Life.Pod == "":
		return nil, errors.New("election for life: it is not known which Pod this is; " + remedy)
	}
	o.PollPeriod = cmp.Or(o.PollPeriod, o.RetryPeriod)
	o.LossTimeout = cmp.Or(o.LossTimeout, (o.LeaseDuration-o.RenewDeadline)/2)
	o.Work = cmp.Or(o.Work, "the reconcilers")
	if o.Elapsed == nil {
		o.Elapsed = newElapsed()
	}
	e := &Elector{
		options: o, leases: o.Leases.Leases(o.Namespace), lost: make(chan error, 1), acquired: make(chan struct{}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_leader",
			Help: "1 while this replica leads and reconciles, otherwise 0.",
		}),
		transitions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_leader_transitions_total",
			Help: "How often this replica saw a new leader, itself included.",
		}),
	}
	e.lock = &lock{Elector: e}
	var err error
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.lock, Name: o.Name, LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.PollPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(e.acquired) },
			OnStoppedLeading: func() {},
			OnNewLeader:      e.observeHolder,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("election: lease duration %s, renew deadline %s, retry period %s: %w",
			o.LeaseDuration, o.RenewDeadline, o.RetryPeriod, err)
	}
	if o.Metrics != nil {
		err = errors.Join(o.Metrics.Register(e.leader), o.Metrics.Register(e.transitions))
	}
	return e, err
}

// Run waits until this replica leads, and then runs lead until ctx ends, the Lease is lost or lead returns.
// The context of lead is canceled at once in each case, and Run waits for lead to return; the Lease is
// renewed meanwhile, and released after.
//
// It returns nil when ctx ended, ErrLost when the Lease was lost, the error of lead where lead returned one,
// and an error where lead did not return within the drain timeout. That error wraps ErrStillRunning as well
// as ErrLost where the Lease was lost.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	defer e.pending.Wait()
	e.options.Logger.Info("taking part in the election",
		"lease", e.lock.Describe(), "identity", e.options.Identity, "forLife", e.options.Life != nil)
	if e.options.Life != nil {
		if err := e.lock.findSelf(ctx); err != nil || ctx.Err() != nil {
			return err
		}
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
	if release && e.lock.held {
		e.release(ctx)
	}
	return err
}

// work runs lead until it has returned, and reports whether the Lease is to be released. It ends the election where the
// Lease is lost, which it leaves alone.
func (e *Elector) work(
	ctx context.Context, lead func(context.Context) error, over <-chan struct{}, endElection func(),
) (release bool, err error) {
	// Until the work has ended, this replica must still lead: its context outlives ctx.
	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	ended := make(chan error, 1)
	go func() { ended <- panics.Try("leading", func() error { return lead(working) }) }()
	e.leader.Set(1)
	defer e.leader.Set(0)
	lost := func(reason error) (bool, error) {
		e.fence.close()
		e.leader.Set(0)
		stop(fmt.Errorf("%w: %w", ErrLost, reason))
		endElection()
		return false, e.awaitEnd(reason, ended)
	}
	deadline := time.NewTimer(e.fence.left(e.options.Elapsed()))
	defer deadline.Stop()
	for stopped, drained := ctx.Done(), (<-chan time.Time)(nil); ; {
		select {
		case err := <-ended:
			return true, err
		case <-stopped:
			stopped, drained = nil, time.After(e.options.DrainTimeout)
			stop(context.Canceled)
		case <-drained:
			return false, fmt.Errorf("election: %s still run %s after they were told to stop: the Lease %s is left to run out",
				e.options.Work, e.options.DrainTimeout, e.lock.Describe())
		case reason := <-e.lost:
			return lost(reason)
		case <-over:
			return lost(errEnded)
		case <-deadline.C:
			left := e.fence.left(e.options.Elapsed())
			if left <= 0 {
				return lost(fmt.Errorf("not renewed for %s", e.options.RenewDeadline))
			}
			deadline.Reset(left)
		}
	}
}

// awaitEnd waits for the work to end after the Lease was lost.
func (e *Elector) awaitEnd(reason error, ended <-chan error) error {
	e.options.Logger.Error(reason, "the Lease is lost: "+e.options.Work+" must stop", "lease", e.lock.Describe())
	select {
	case err := <-ended:
		if err != nil && !errors.Is(err, context.Canceled) {
			e.options.Logger.Error(err, e.options.Work+" ended with an error", "lease", e.lock.Describe())
		}
		return ErrLost
	case <-time.After(e.options.LossTimeout):
		return fmt.Errorf("%w, and %s still run %s after they were told to stop: %w",
			ErrLost, e.options.Work, e.options.LossTimeout, ErrStillRunning)
	}
}

// release releases the Lease. Where that fails it expires by itself, only later.
func (e *Elector) release(ctx context.Context) {
	if err := e.lock.release(context.WithoutCancel(ctx)); err != nil {
		e.options.Logger.Error(err, "cannot release the Lease: it runs out by itself",
			"lease", e.lock.Describe(), "in", e.options.LeaseDuration)
		return
	}
	e.options.Logger.Info("Lease released", "lease", e.lock.Describe())
}

// Status describes in a few words who leads.
func (e *Elector) Status() string {
	switch leader := e.elector.GetLeader(); {
	case e.Check() == nil:
		return e.options.Identity + " (this replica)"
	case leader == "":
		return "none yet"
	default:
		return leader
	}
}

// Check returns nil while this replica leads, as of this very call: callers call it before each write. A
// process that was stopped, or a machine that slept, finds out here before its timers have fired. A stop
// between this call and the sending of the request remains possible.
func (e *Elector) Check() error { return e.fence.check(e.options.Elapsed()) }

// observeHolder records who holds the Lease; holder is empty where it is not held.
func (e *Elector) observeHolder(holder string) {
	if holder == "" {
		return
	}
	e.transitions.Inc()
	e.options.Logger.Info("new leader", "lease", e.lock.Describe(), "leader", holder, "self", holder == e.options.Identity)
}
