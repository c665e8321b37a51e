// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/delayqueue"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/pauses"
)

const (
	// defaultWorkers is used where Options.Workers is not positive.
	defaultWorkers = 1024
	// maxSuspicion is used where Options.MaxSuspicion is not positive.
	maxSuspicion = 10 * time.Minute
	// promptRate is how many new targets a second are probed right away, and how many at once.
	promptRate = 100
)

// Options of a Prober.
type Options struct {
	// Dial opens the TCP connection of a probe. It must end when ctx ends, and its error wraps
	// egress.ErrDenied where the policy refuses the address. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Lookup returns what the Host of a target without IP leads to: it is healthy where any of the
	// first eight addresses is, and nothing was asked where there are none. It must end when ctx
	// ends. The default is that every target needs an IP.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// RequireThreshold is for what acts on Unhealthy: no single result makes a target Unhealthy that nothing
	// is known of, and one that cannot be asked, since the policy denies it or its name leads
	// nowhere, is Unknown for as long as that lasts. The default is that both count as failures, the
	// first of which decides.
	RequireThreshold bool
	// Group names what a key's targets belong to when this process suspects itself: keys of the same
	// group count as one, with one destination. It always returns the same for the same key. The
	// default is that each counts by itself.
	Group func(key types.NamespacedName) string
	// Reference says whether this process reaches something that no namespace has a say in, such as
	// the API server and a nameserver. It is asked when much begins to fail, and every 5s while it
	// returns false, and must end when ctx ends, which is after 5s. The default is that it is reached.
	Reference func(ctx context.Context) bool
	// MaxSuspicion is how long failures may be held back for no other reason than how many there
	// are; it takes five times as long until they may be for as long again. The default is 10m.
	MaxSuspicion time.Duration
	// OnSuspect is told when a suspicion begins, with a sentence about its cause, and when it ends.
	// It must not block. The default tells no one.
	OnSuspect func(suspect bool, cause string)
	// Names of the metrics. The default is those of ExternalServices.
	Names Names
	// Workers is how many probes are under way at once at most; one namespace may use half of what
	// others leave. The default is 1024.
	Workers int
	// Now gives the times in Health. The default is time.Now. Probes are timed by the process's
	// own monotonic clock.
	Now func() time.Time
	// Rand returns a number from 0 up to but not including 1, and may be called from anywhere. The
	// default is math/rand/v2's.
	Rand func() float64
	// Notify is told of every key one of whose targets changed its State, or what it cannot be asked
	// for, and of every one that has targets when Suspect or Frozen changes. It must not block. The
	// default tells no one.
	Notify func(key types.NamespacedName)
	// Registerer gets the metrics. The default is nowhere.
	Registerer prometheus.Registerer
}

// Prober knows the health of the targets of all objects of one kind. All methods may be called from
// anywhere at any time.
type Prober struct {
	Options

	queue   *delayqueue.Agenda[*target]
	checker checker
	metrics *metrics
	// promptLimiter lets a few new targets be probed right away, and spreads the many of a start.
	promptLimiter *rate.Limiter
	// startTime is what deadlines are counted from.
	startTime time.Time
	// initErr is why Run refuses.
	initErr error

	// deliverMu keeps what OnSuspect is told in order. It is taken before mu.
	deliverMu sync.Mutex

	mu                 sync.Mutex
	objects            map[types.NamespacedName]*object
	groups             groupCounts
	suspicion          suspicion
	pauses             pauses.Meter
	budget             suspicionBudget
	expiry             *time.Timer
	reference          reference
	networkUnreachable bool
	suspect            bool
	cause              string
	changes            []suspectChange

	// delivered says that there is no news that OnSuspect was not told.
	delivered atomic.Bool
}

// New makes a Prober without targets. Nothing is probed before Run.
func New(o Options) *Prober {
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Notify == nil {
		o.Notify = func(types.NamespacedName) {}
	}
	if o.MaxSuspicion <= 0 {
		o.MaxSuspicion = maxSuspicion
	}
	if o.Names == (Names{}) {
		o.Names = externalServiceNames()
	}
	p := &Prober{
		Options:       o,
		checker:       checker{dial: o.Dial, lookup: o.Lookup},
		startTime:     time.Now(),
		promptLimiter: rate.NewLimiter(promptRate, promptRate),
		objects:       map[types.NamespacedName]*object{},
		groups:        groupCounts{},

		suspicion: newSuspicion(),
		pauses:    pauses.Meter{Every: time.Second / 2, Least: time.Second / 2},
		budget:    suspicionBudget{limit: o.MaxSuspicion, left: o.MaxSuspicion, at: time.Now()},
		reference: reference{requests: make(chan struct{}, 1)},
	}
	p.queue = delayqueue.New(delayqueue.Options[*target]{
		Workers: o.Workers,
		Do:      p.probe,
		Share:   func(t *target) string { return t.object.key.Namespace },
	})
	p.metrics = newMetrics(o.Names, o.Lookup != nil, func() float64 { return float64(p.queue.Running()) })
	if o.Registerer != nil {
		p.initErr = p.metrics.register(o.Registerer)
	}
	if o.Dial == nil {
		p.initErr = errors.New("probing: Options.Dial is required")
	}
	return p
}

// Run probes until ctx ends, and returns once no probe is under way. It fails at once where the
// metrics could not be registered.
func (p *Prober) Run(ctx context.Context) error {
	if p.initErr != nil {
		return p.initErr
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { p.runReference(ctx) })
	asking.Go(func() { p.pauses.Run(ctx) })
	err := p.queue.Run(ctx)
	cancel()
	asking.Wait()
	return err
}
