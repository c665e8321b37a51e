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

// ErrLost is what Run returns when the Lease was lost while this replica led: it could not be
// renewed in time, or another replica holds it.
var ErrLost = errors.New("leader election lost")

// ErrTaken says that another replica holds the Lease. Where that was how it was lost, the cause of the
// context's end is this as well as ErrLost: there is no time left, as there is after a renewal that
// only failed.
var ErrTaken = errors.New("the Lease is held by another replica")

// ErrStillRunning says that the Lease was lost and that what leading means went on for too long after.
// Another replica may lead by now: the caller must end the process at once.
var ErrStillRunning = errors.New("the process must end at once")

// ErrNotLeading is what Check returns where this replica must not act.
var ErrNotLeading = errors.New("this replica does not lead")

// Options configure an Elector.
type Options struct {
	// Leases is the client. It must not share a rate limit with the reconcilers, nor have a
	// timeout, which would end the watch; every request is bounded here.
	Leases coordinationv1client.LeasesGetter
	// Namespace and Name are those of the Lease. It is created where it does not exist.
	Namespace, Name string
	// Identity names this replica. Two of the same name never lead at the same time, but the
	// second waits for the Lease of the first to run out, also when the first has crashed.
	Identity string

	// LeaseDuration is how long others wait for a silent leader, in whole seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long after its last renewal a leader stops. It is below LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod is the time between renewals, and between attempts where nothing wakes one.
	RetryPeriod time.Duration
	// DrainTimeout bounds how long the work may take to end after it is told to. After it the
	// Lease is left to run out. The default is RenewDeadline.
	DrainTimeout time.Duration
	// LossTimeout bounds how long the work may take to end once the Lease is lost. After it Run
	// returns ErrOutlived. The default is half of what is left of the Lease at the renew deadline.
	LossTimeout time.Duration

	// Life makes the leader one for life: what elects is that a Pod exists, and the durations above
	// bound requests and retries only. Nil means that the Lease is renewed.
	Life *Life

	// Work names what leading means, for the log and for errors. The default is "the reconcilers".
	Work string
	// Announce is told who begins and who stops leading. It runs in a goroutine of its own, and
	// what it does is bounded by its context. Nil means that neither is announced.
	Announce Announcer
	// Metrics gets fairlead_leader and fairlead_leader_transitions_total. Nil means none.
	Metrics prometheus.Registerer
	// Logger gets who leads, and what goes wrong.
	Logger logr.Logger
	// Clock is the clock. Nil means the real one.
	Clock clock.Clock
	// Elapsed is a clock that cannot be set and that runs while the machine sleeps, which Clock need
	// not. It decides whether this replica may act. Nil means the system's.
	Elapsed func() time.Duration
}

// Elector takes part in one election.
type Elector struct {
	Options
	leases    coordinationv1client.LeaseInterface
	metrics   metrics
	guard     writeGuard
	pending   sync.WaitGroup
	wallClock func() time.Time // what stands in the Lease, for people

	mu      sync.Mutex
	leader  string
	stuck   string // why no replica may take over from a leader that seems not to work
	leading bool
}

// New validates the options. Errors say which duration does not fit which.
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
	e := &Elector{Options: o, leases: o.Leases.Leases(o.Namespace), metrics: newMetrics(), wallClock: o.Clock.Now}
	if o.Metrics != nil {
		if err := e.metrics.register(o.Metrics); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Run waits until this replica leads, and then runs lead until ctx ends, the Lease is lost or
// lead returns. The context of lead is canceled at once in each case, and Run waits for lead to
// return; the Lease is renewed meanwhile, and released after.
//
// It returns nil when ctx ended, ErrLost when the Lease was lost, the error of lead where lead
// returned one, and an error where lead did not return within the drain timeout. That error is
// ErrOutlived as well as ErrLost where the Lease was lost.
//
// It may be called again after it has returned anything but ErrOutlived, for another term.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	defer e.pending.Wait()
	e.Logger.Info("taking part in the election", "lease", e.lease(), "identity", e.Identity, "forLife", e.Life != nil)
	campaign, hold := e.campaign, e.hold
	if e.Life != nil {
		campaign, hold = e.campaignForLife, e.holdForLife
	}
	term, err := campaign(ctx)
	if err != nil || term == nil {
		return err
	}
	e.announce(ctx, *term, reasonElected, e.Identity+" leads")
	e.guard.allow(*term)
	e.setLeading(true)
	defer e.setLeading(false)
	err = hold(ctx, *term, lead)
	// Whatever still runs, such as work that did not drain, has no more say.
	e.guard.revoke()
	e.announce(ctx, *term, reasonStopped, e.Identity+" stopped leading")
	return err
}

// Status says in a few words who leads.
func (e *Elector) Status() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.leading:
		return e.Identity + " (this replica)"
	case e.leader == "":
		return "none yet"
	case e.stuck != "":
		return e.leader + ": " + e.stuck
	default:
		return e.leader
	}
}

// Check is nil while this replica leads, by the time of this very call: a caller that is about to write
// calls it. A process that was stopped, or a machine that slept, finds out here and not only when its
// timers have fired. What remains is a stop between this call and the sending of the request.
func (e *Elector) Check() error { return e.guard.check(e.Elapsed()) }

func (e *Elector) setLeading(leading bool) {
	e.mu.Lock()
	e.leading = leading
	e.mu.Unlock()
	e.metrics.leading(leading)
}

// observeHolder notes who holds the Lease; it is not held where holder is empty.
func (e *Elector) observeHolder(holder string) {
	e.mu.Lock()
	changed := e.leader != holder
	e.leader = holder
	if changed {
		e.stuck = ""
	}
	e.mu.Unlock()
	if changed && holder != "" {
		e.metrics.transitions.Inc()
		e.Logger.Info("new leader", "lease", e.lease(), "leader", holder, "self", holder == e.Identity)
	}
}

func (e *Elector) lease() string { return e.Namespace + "/" + e.Name }

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
