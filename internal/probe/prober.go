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
	// promptBurst is how many new targets of a namespace are probed right away, and promptRate how many per second
	// after that.
	promptBurst, promptRate = 100, 1000
)

// Options of a Prober.
type Options struct {
	// Dial opens the TCP connection of a probe. It must end when ctx ends, and its error wraps
	// egress.ErrDenied where the policy refuses the address. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Lookup returns the addresses of the Host of a target without IP: it is healthy where any of the first eight
	// is, and not probed where there are none. It must return when ctx ends. Defaults to nil: every target needs
	// an IP.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// RequireThreshold is for callers that act on Unhealthy: an Unknown target becomes Unhealthy only after
	// FailureThreshold failures, and one that cannot be probed, since the policy denies it or its name has no
	// address, is Unknown while that lasts. Otherwise both count as failures, the first of which decides.
	RequireThreshold bool
	// Group returns the group of a key for the suspicion: keys of the same group count as one object, with one
	// destination. It always returns the same for the same key. Defaults to nil: each key counts.
	Group func(key types.NamespacedName) string
	// Reference reports whether this process reaches something that no namespace controls, such as the API server
	// and a nameserver. It is called when much begins to fail, and every 5s while it returns false, and must
	// return when ctx ends, which is after 5s. Defaults to nil: it is not checked.
	Reference func(ctx context.Context) bool
	// MaxSuspicion limits how long failures are held back only because of how many there are; it takes five times
	// as long until they may be for as long again. Defaults to 10m.
	MaxSuspicion time.Duration
	// OnSuspect is called when a suspicion begins, with a sentence about its cause, and when it ends. It must not
	// block. Defaults to nil: it is not called.
	OnSuspect func(suspect bool, cause string)
	// Kind of the objects, a label of the metrics. Defaults to ExternalService.
	Kind string
	// Workers is how many probes run at once; one namespace may use half of what others leave. Defaults to 1024.
	Workers int
	// Now returns the times in Health. Defaults to time.Now. Probes are timed by the monotonic clock.
	Now func() time.Time
	// Rand returns a number in [0, 1). It is called concurrently. Defaults to rand.Float64.
	Rand func() float64
	// Notify is called with a key when the State of one of its targets changes, or why it cannot be probed, and
	// with every key when IsSuspect or IsFrozen changes. It must not block. Defaults to nil: it is not called.
	Notify func(key types.NamespacedName)
	// Registerer registers the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
}

// Prober probes the targets of all objects of one kind. It is safe for concurrent use.
type Prober struct {
	options Options

	queue   *delayqueue.Queue[*target]
	checker checker
	metrics *metrics
	// startTime is what target.due counts from.
	startTime time.Time
	// initErr is returned by Run.
	initErr error

	// deliverMu orders the calls of OnSuspect. It is locked before mu.
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
	// unsettled counts the unsettled failures of all tallies.
	unsettled int64

	// delivered means that OnSuspect was called with all changes.
	delivered atomic.Bool
}

// New returns a Prober without targets. Nothing is probed before Run.
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
	if o.Kind == "" {
		o.Kind = "ExternalService"
	}
	p := &Prober{
		options:   o,
		checker:   checker{dial: o.Dial, lookup: o.Lookup},
		startTime: time.Now(),
		objects:   map[types.NamespacedName]*object{},
		groups:    groupCounts{},

		suspicion: newSuspicion(),
		pauses:    pauses.Meter{Every: time.Second / 2, Least: time.Second / 2},
		budget:    suspicionBudget{limit: o.MaxSuspicion, left: o.MaxSuspicion, at: time.Now()},
		reference: reference{requests: make(chan struct{}, 1)},
	}
	p.queue = delayqueue.New(delayqueue.Options[*target]{
		Workers: o.Workers,
		Process: p.probe,
		Tenant:  func(t *target) string { return t.object.key.Namespace },
	})
	p.metrics = newMetrics(o.Kind, o.Lookup != nil, func() float64 { return float64(p.queue.Running()) })
	if o.Registerer != nil {
		p.initErr = p.metrics.register(o.Registerer)
	}
	if o.Dial == nil {
		p.initErr = errors.New("probe: Options.Dial is required")
	}
	return p
}

// Run probes until ctx ends, and returns once no probe is under way. It fails at once if the metrics could not be
// registered.
func (p *Prober) Run(ctx context.Context) error {
	if p.initErr != nil {
		return p.initErr
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { p.runReference(ctx) })
	running.Go(func() { p.pauses.Run(ctx) })
	err := p.queue.Run(ctx)
	cancel()
	running.Wait()
	return err
}
