// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probing

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/agenda"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

const (
	// defaultWorkers is used where Options.Workers is not positive.
	defaultWorkers = 1024
	// prompt is how many new targets a second are probed right away, and how many at once.
	prompt = 100
)

// Options of a Prober.
type Options struct {
	// Dial opens the TCP connection of a probe. It must end when ctx ends, and its error wraps
	// egress.ErrDenied where the policy refuses the address. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Lookup answers what the Host of a target without IP leads to: it is healthy where any of the
	// first eight addresses is, and nothing was asked where there are none. It must end when ctx
	// ends. The default is that every target needs an IP.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Patient is for what acts on Unhealthy: no single result makes a target Unhealthy that nothing
	// is known of, and one that cannot be asked, since the policy denies it or its name leads
	// nowhere, is Unknown for as long as that lasts. The default is that both count as failures, the
	// first of which decides.
	Patient bool
	// Group names what a key's targets belong to when this process suspects itself: keys of the same
	// group count as one. It always answers the same for the same key. The default is that each
	// counts by itself.
	Group func(key types.NamespacedName) string
	// Names of the metrics. The default is those of ExternalServices.
	Names Names
	// Workers is how many probes are under way at once at most; one namespace may use half of what
	// others leave. The default is 1024.
	Workers int
	// Now gives the times in Health. The default is time.Now. Probes are timed by the process's
	// own monotonic clock.
	Now func() time.Time
	// Rand answers a number from 0 up to but not including 1, and may be called from anywhere. The
	// default is math/rand/v2's.
	Rand func() float64
	// Notify is told of every key one of whose targets changed its State, or what it cannot be asked
	// for, and of every one that has targets when Suspect changes. It must not block. The default
	// tells nobody.
	Notify func(key types.NamespacedName)
	// Registerer gets the metrics. The default is nowhere.
	Registerer prometheus.Registerer
}

// Prober knows the health of the targets of all objects of one kind. All methods may be called from
// anywhere at any time.
type Prober struct {
	Options

	agenda  *agenda.Agenda[*target]
	asker   asker
	metrics *metrics
	// prompt lets a few new targets be probed right away, and spreads the many of a start.
	prompt *rate.Limiter
	// began is what deadlines are counted from.
	began time.Time
	// broken is why Run refuses.
	broken error

	mu        sync.Mutex
	objects   map[types.NamespacedName]*object
	tallies   tallies
	suspicion suspicion
	doubt     bool
	suspect   bool
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
	if o.Names == (Names{}) {
		o.Names = ofExternalServices()
	}
	p := &Prober{
		Options: o,
		asker:   asker{dial: o.Dial, lookup: o.Lookup},
		began:   time.Now(),
		prompt:  rate.NewLimiter(prompt, prompt),
		objects: map[types.NamespacedName]*object{},
		tallies: tallies{},
	}
	p.agenda = agenda.New(agenda.Options[*target]{
		Workers: o.Workers,
		Do:      p.probe,
		Share:   func(t *target) string { return t.object.key.Namespace },
	})
	p.metrics = newMetrics(o.Names, o.Lookup != nil, func() float64 { return float64(p.agenda.Running()) })
	if o.Registerer != nil {
		p.broken = p.metrics.register(o.Registerer)
	}
	if o.Dial == nil {
		p.broken = errors.New("probing: Options.Dial is required")
	}
	return p
}

// Run probes until ctx ends, and returns once no probe is under way. It fails at once where the
// metrics could not be registered.
func (p *Prober) Run(ctx context.Context) error {
	if p.broken != nil {
		return p.broken
	}
	return p.agenda.Run(ctx)
}

// Suspect says whether failures decide nothing now, since the fault is probably on this side.
func (p *Prober) Suspect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.suspect
}

// SetNetworkDoubt says that something else shows this process to be cut off, such as no nameserver
// answering. It is suspect until the doubt is taken back.
func (p *Prober) SetNetworkDoubt(doubt bool) {
	p.mu.Lock()
	p.doubt = doubt
	told := p.judge()
	p.mu.Unlock()
	p.notify(told)
}

// judge decides whether this process is suspect, and answers whom to tell of a change. The lock is
// held; Notify is called without it.
func (p *Prober) judge() []types.NamespacedName {
	suspect := p.suspicion.judge() || p.doubt
	if suspect == p.suspect {
		return nil
	}
	p.suspect = suspect
	p.metrics.doubt(suspect)
	keys := make([]types.NamespacedName, 0, len(p.objects))
	for key := range p.objects {
		keys = append(keys, key)
	}
	return keys
}

func (p *Prober) notify(keys []types.NamespacedName) {
	for _, key := range keys {
		p.Notify(key)
	}
}
