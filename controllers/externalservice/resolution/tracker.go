// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"cmp"
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
	// Lookup looks up a name, and returns soon after ctx ends. Required.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
	// Ping reports whether any nameserver replies. It is called after a lookup without a reply, to tell unreachable nameservers
	// from slow servers of the name. Defaults to nil: three such lookups in a row mean that the nameservers are unreachable.
	Ping func(ctx context.Context) bool
	// Workers is how many names are looked up at once; one namespace gets about half of them. Defaults to 64.
	Workers int
	// Rand returns a number from 0 to 1, for jitter. Defaults to rand.Float64.
	Rand func() float64
	// Notify is called with an object when a State of it changes in more than times. It must not block.
	// Defaults to nil: it is not called.
	Notify func(key types.NamespacedName)
	// OnReachable is called when the nameservers become unreachable, and when they reply again. It must not
	// block. Defaults to nil: it is not called.
	OnReachable func(reachable bool)
	// Registerer registers the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
}

// Tracker keeps the addresses of names current while Run runs. It is safe for concurrent use.
type Tracker struct {
	options Options

	queue        *delayqueue.Queue[task]
	singleflight *singleflight
	metrics      metrics
	reachability reachability
	registerErr  error

	mu      sync.Mutex
	objects map[types.NamespacedName]map[query]*entry
	// newNames and seededNames pace first lookups: of names without a Seed, and of those with one.
	newNames, seededNames pacer
	// budgets bound the queries of each namespace.
	budgets budgets
}

// task is a name of an object in the queue. The zero task is the ping.
type task struct {
	object types.NamespacedName
	query  query
}

// entry is a name of an object. One that was replaced is not changed any more.
type entry struct {
	name *nameState
}

// New returns a Tracker without names.
func New(o Options) *Tracker {
	if o.Workers <= 0 {
		o.Workers = 64
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
		options: o,
		metrics: newMetrics(),
		objects: map[types.NamespacedName]map[query]*entry{},
	}
	t.singleflight = &singleflight{lookup: t.measuredLookup, now: time.Now, calls: map[query]*call{}}
	t.queue = delayqueue.New(delayqueue.Options[task]{
		Workers: o.Workers,
		Process: t.process,
		Tenant:  func(of task) string { return of.object.Namespace },
	})
	t.registerErr = t.metrics.register(o.Registerer)
	return t
}

// Run looks names up when they are due until ctx ends, and returns once no lookup is under way. It fails at once
// if the metrics could not be registered.
func (t *Tracker) Run(ctx context.Context) error {
	if t.registerErr != nil {
		return t.registerErr
	}
	return t.queue.Run(ctx)
}

// Set replaces the names of an object, and returns the state of each, in order. Names of the same host and records as
// before keep their state. Setting the same names again changes nothing.
func (t *Tracker) Set(key types.NamespacedName, names []Name) []State {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	before, after := t.objects[key], make(map[query]*entry, len(names))
	states := make([]State, 0, len(names))
	for _, name := range names {
		q := name.query()
		name.Verdict = name.verdictOf()
		if e := after[q]; e != nil {
			name.Verdict = either(e.name.verdict, name.Verdict)
		}
		after[q] = t.ensureEntry(task{key, q}, name, cmp.Or(after[q], before[q]), now)
	}
	for q, e := range after {
		if e.name.admit(now) {
			e.name.state.NextTime = t.budgets.earliest(key.Namespace, e.name.state.NextTime)
			t.queue.Set(task{key, q}, e.name.state.NextTime)
		}
	}
	for _, name := range names {
		states = append(states, after[name.query()].name.state)
	}
	for q := range before {
		if _, ok := after[q]; !ok {
			t.queue.Remove(task{key, q})
		}
	}
	if len(after) == 0 {
		delete(t.objects, key)
	} else {
		t.objects[key] = after
	}
	return states
}

// ensureEntry returns the entry of a name: e, or a new one where there is none.
func (t *Tracker) ensureEntry(of task, name Name, e *entry, now time.Time) *entry {
	if e != nil {
		if e.name.update(name, now) {
			t.queue.Set(of, e.name.state.NextTime)
		}
		return e
	}
	e = &entry{name: newNameState(name)}
	at := &t.newNames
	if len(name.Seed) > 0 {
		at = &t.seededNames
	}
	e.name.state.NextTime = t.budgets.earliest(of.object.Namespace, at.next(now))
	t.queue.Set(of, e.name.state.NextTime)
	return e
}

// Forget removes the names of an object.
func (t *Tracker) Forget(key types.NamespacedName) { t.Set(key, nil) }

// ResolvedTime returns when a name of an object last resolved, or zero.
func (t *Tracker) ResolvedTime(key types.NamespacedName, name Name) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.objects[key][name.query()]; e != nil {
		return e.name.state.ResolvedTime
	}
	return time.Time{}
}

// IsReachable reports whether nameservers reply, as far as is known.
func (t *Tracker) IsReachable() bool { return !t.reachability.unreachable.Load() }

const (
	// firstRate is how many first lookups begin in a second.
	firstRate = 500
	// firstBurst is how many may begin at once.
	firstBurst = 64
)

// pacer limits the rate of first lookups: a burst at once, and the rest at a steady rate.
type pacer struct {
	// full is when all first lookups so far would have begun at the steady rate.
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
