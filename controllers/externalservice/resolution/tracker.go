// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/delayqueue"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// Options of a Tracker.
type Options struct {
	// Lookup asks what a name leads to, and ends soon after ctx has. Required.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
	// Ping asks whether any nameserver answers anything at all. It settles what a lookup that got
	// no answer means: that the nameservers are gone, or that the name's own servers are slow. By default
	// three such lookups in a row are taken for the former.
	Ping func(ctx context.Context) bool
	// Workers is how many names are looked up at once; one namespace gets about half of them. The
	// default is 64.
	Workers int
	// Now tells the time. The default is time.Now.
	Now func() time.Time
	// Rand returns a number from 0 to 1, for jitter. The default is rand.Float64.
	Rand func() float64
	// Notify is told of an object of which a name has changed in a way that matters to a
	// reconciler. It must not block. Defaults to nil: it is not called.
	Notify func(key types.NamespacedName)
	// OnReachable is told when the nameservers stop to answer anything, and when they answer
	// again. It must not block. Defaults to nil: it is not called.
	OnReachable func(reachable bool)
	// Registerer takes the metrics. The default takes none.
	Registerer prometheus.Registerer
}

// Tracker knows what names lead to now. It is safe for concurrent use; looking up happens while
// Run runs.
type Tracker struct {
	Options

	queue        *delayqueue.Agenda[task]
	singleflight *singleflight
	metrics      metrics
	reachability reachability
	registerErr  error

	mu      sync.Mutex
	objects map[types.NamespacedName]map[string]*entry
	// newNames and known space out first lookups: of names that are new, and of those with a Seed.
	newNames, seededNames pacer
}

// task is a name of an object in the agenda. The zero task is the ping.
type task struct {
	object   types.NamespacedName
	endpoint string
}

// entry is a name of an object. One that was replaced is never changed again.
type entry struct {
	query query
	name  *nameState
}

// New makes a Tracker of nothing.
func New(o Options) *Tracker {
	if o.Workers <= 0 {
		o.Workers = 64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = func() float64 { return rand.Float64() } //nolint:gosec // Jitter is no secret.
	}
	if o.Notify == nil {
		o.Notify = func(types.NamespacedName) {}
	}
	if o.OnReachable == nil {
		o.OnReachable = func(bool) {}
	}
	t := &Tracker{
		Options: o,
		metrics: newMetrics(),
		objects: map[types.NamespacedName]map[string]*entry{},
	}
	t.singleflight = &singleflight{lookup: t.measuredLookup, now: o.Now, calls: map[query]*call{}}
	t.queue = delayqueue.New(delayqueue.Options[task]{
		Workers: o.Workers,
		Do:      t.process,
		Share:   func(of task) string { return of.object.Namespace },
	})
	t.registerErr = t.metrics.register(o.Registerer)
	return t
}

// Run looks names up when they are due until ctx ends, and returns once no lookup is under way. It
// fails at once where the Registerer refused the metrics.
func (t *Tracker) Run(ctx context.Context) error {
	if t.registerErr != nil {
		return t.registerErr
	}
	return t.queue.Run(ctx)
}

// Set says which names an object has, and returns what is known of them, in their order. Names
// whose endpoint, host and records are as before keep their state; those that are gone are
// forgotten. Setting the same names again changes nothing.
func (t *Tracker) Set(key types.NamespacedName, names []Name) []State {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Now()
	before, after := t.objects[key], make(map[string]*entry, len(names))
	states := make([]State, 0, len(names))
	for _, name := range names {
		e, ok := after[name.Endpoint]
		if !ok {
			e = t.ensureEntry(key, name, before[name.Endpoint], now)
			after[name.Endpoint] = e
		}
		states = append(states, e.name.state)
	}
	for endpoint := range before {
		if _, ok := after[endpoint]; !ok {
			t.queue.Remove(task{key, endpoint})
		}
	}
	if len(after) == 0 {
		delete(t.objects, key)
	} else {
		t.objects[key] = after
	}
	return states
}

// ensureEntry returns the entry of a name: the one that it had, or a new one that is due for its first
// lookup.
func (t *Tracker) ensureEntry(key types.NamespacedName, name Name, e *entry, now time.Time) *entry {
	if e != nil && e.query == name.query() {
		if e.name.updateSettings(name.settings(), now) {
			t.queue.Set(task{key, name.Endpoint}, e.name.state.NextTime)
		}
		return e
	}
	e = &entry{query: name.query(), name: newNameState(name)}
	at := &t.newNames
	if len(name.Seed) > 0 {
		at = &t.seededNames
	}
	e.name.state.NextTime = at.next(now)
	t.queue.Set(task{key, name.Endpoint}, e.name.state.NextTime)
	return e
}

// Forget forgets the names of an object.
func (t *Tracker) Forget(key types.NamespacedName) { t.Set(key, nil) }

// ResolvedTime is when a name of an object last resolved; zero where it never has, or is not known.
func (t *Tracker) ResolvedTime(key types.NamespacedName, endpoint string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.objects[key][endpoint]; e != nil {
		return e.name.state.ResolvedTime
	}
	return time.Time{}
}

// IsReachable is false while no nameserver answers anything at all. It is true until that is known.
func (t *Tracker) IsReachable() bool { return !t.reachability.unreachable.Load() }

const (
	// firstRate is how many first lookups begin in a second, in the long run.
	firstRate = 500
	// firstBurst is how many may begin at once.
	firstBurst = 64
)

// pacer spaces out first lookups: a burst at once, and the rest at a steady rate.
type pacer struct {
	// full is when everything that was let through so far would have begun at the steady rate.
	full time.Time
}

// next returns when one more may begin.
func (p *pacer) next(now time.Time) time.Time {
	const gap = time.Second / firstRate
	if p.full.Before(now) {
		p.full = now
	}
	at := p.full.Add(-(firstBurst - 1) * gap)
	p.full = p.full.Add(gap)
	if at.Before(now) {
		return now
	}
	return at
}
