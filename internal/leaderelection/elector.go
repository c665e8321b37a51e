// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
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

// ErrNotLeading is returned by Check where this replica must not act.
var ErrNotLeading = errors.New("this replica does not lead")

// Options configure an Elector.
type Options struct {
	// Leases is the client. It must not share a rate limit with the reconcilers, nor have a timeout, which
	// would end the watch; every request is bounded here.
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
	// RetryPeriod is the time between renewals, and between attempts without an event.
	RetryPeriod time.Duration
	// DrainTimeout bounds how long the work may take to end after its context has ended. After it the Lease is left
	// to expire. Defaults to RenewDeadline.
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
	// Clock defaults to the real clock.
	Clock clock.Clock
	// Elapsed is a clock that cannot be set and that runs while the machine sleeps, which Clock may not do.
	// It decides whether this replica may act. Defaults to the system's.
	Elapsed func() time.Duration
}

// Elector takes part in one election.
type Elector struct {
	options   Options
	leases    coordinationv1client.LeaseInterface
	metrics   metrics
	guard     writeGuard
	pending   sync.WaitGroup
	wallClock func() time.Time // the time written into the Lease

	mu       sync.Mutex
	leader   string
	leading  bool
	observed observedLease // by Observe, for the next Run
}

// New returns an Elector, or an error that names the option that is invalid.
func New(o Options) (*Elector, error) {
	switch {
	case o.Leases == nil:
		return nil, errors.New("election: no client")
	case o.Namespace == "" || o.Name == "":
		return nil, errors.New("election: the Lease needs a namespace and a name")
	case o.Identity == "":
		return nil, errors.New("election: this replica needs an identity")
	case o.RetryPeriod <= 0:
		return nil, fmt.Errorf("election: retry period %s must be greater than 0", o.RetryPeriod)
	case o.RenewDeadline <= o.RetryPeriod:
		return nil, fmt.Errorf("election: renew deadline %s must be greater than the retry period, %s", o.RenewDeadline, o.RetryPeriod)
	case o.LeaseDuration <= o.RenewDeadline:
		return nil, fmt.Errorf("election: lease duration %s must be greater than the renew deadline, %s", o.LeaseDuration, o.RenewDeadline)
	case o.LeaseDuration%time.Second != 0:
		return nil, fmt.Errorf("election: lease duration %s must be whole seconds", o.LeaseDuration)
	}
	if err := o.Life.validate(); err != nil {
		return nil, err
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = o.RenewDeadline
	}
	if o.LossTimeout <= 0 {
		o.LossTimeout = (o.LeaseDuration - o.RenewDeadline) / 2
	}
	if o.Work == "" {
		o.Work = "the reconcilers"
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Elapsed == nil {
		o.Elapsed = newElapsed()
	}
	e := &Elector{options: o, leases: o.Leases.Leases(o.Namespace), metrics: newMetrics(), wallClock: o.Clock.Now}
	if o.Metrics != nil {
		if err := e.metrics.register(o.Metrics); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Run waits until this replica leads, and then runs lead until ctx ends, the Lease is lost or lead returns.
// The context of lead is canceled at once in each case, and Run waits for lead to return; the Lease is
// renewed meanwhile, and released after.
//
// It returns nil when ctx ended, ErrLost when the Lease was lost, the error of lead where lead returned one,
// and an error where lead did not return within the drain timeout. That error wraps ErrStillRunning as well
// as ErrLost where the Lease was lost.
//
// It may be called again for another term, except after ErrStillRunning.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	defer e.pending.Wait()
	e.options.Logger.Info("taking part in the election", "lease", e.lease(), "identity", e.options.Identity, "forLife", e.options.Life != nil)
	term, err := e.campaign(ctx)
	if err != nil || term == nil {
		return err
	}
	e.announce(ctx, *term, reasonElected, e.options.Identity+" leads")
	e.guard.allow(*term)
	e.setLeading(true)
	defer e.setLeading(false)
	err = e.hold(ctx, *term, lead)
	// Work that is still running must not pass Check any more.
	e.guard.revoke()
	e.announce(ctx, *term, reasonStopped, e.options.Identity+" stopped leading")
	return err
}

// Status describes in a few words who leads.
func (e *Elector) Status() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.leading:
		return e.options.Identity + " (this replica)"
	case e.leader == "":
		return "none yet"
	default:
		return e.leader
	}
}

// Check returns nil while this replica leads, as of this very call: callers call it before each write. A
// process that was stopped, or a machine that slept, finds out here before its timers have fired. A stop
// between this call and the sending of the request remains possible.
func (e *Elector) Check() error { return e.guard.check(e.options.Elapsed()) }

func (e *Elector) setLeading(leading bool) {
	e.mu.Lock()
	e.leading = leading
	e.mu.Unlock()
	e.metrics.leading(leading)
}

// observeHolder records who holds the Lease; holder is empty where it is not held.
func (e *Elector) observeHolder(holder string) {
	e.mu.Lock()
	changed := e.leader != holder
	e.leader = holder
	e.mu.Unlock()
	if changed && holder != "" {
		e.metrics.transitions.Inc()
		e.options.Logger.Info("new leader", "lease", e.lease(), "leader", holder, "self", holder == e.options.Identity)
	}
}

func (e *Elector) lease() string { return e.options.Namespace + "/" + e.options.Name }

type metrics struct {
	leader      prometheus.Gauge
	transitions prometheus.Counter
}

func newMetrics() metrics {
	return metrics{
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_leader",
			Help: "1 while this replica leads and reconciles, otherwise 0.",
		}),
		transitions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_leader_transitions_total",
			Help: "How often this replica saw a new leader, itself included.",
		}),
	}
}

func (m metrics) register(with prometheus.Registerer) error {
	for _, collector := range []prometheus.Collector{m.leader, m.transitions} {
		if err := with.Register(collector); err != nil {
			return fmt.Errorf("election metrics: %w", err)
		}
	}
	return nil
}

func (m metrics) leading(yes bool) {
	if yes {
		m.leader.Set(1)
		return
	}
	m.leader.Set(0)
}
