// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kind is a kind of fault.
type kind string

const (
	partitioned kind = "partitioned" // nothing arrives, and no error is returned
	refused     kind = "refused"     // every request fails at once
	unanswered  kind = "unanswered"  // requests are applied, their responses are lost
	slowed      kind = "slowed"      // requests and responses take long
	stopped     kind = "stopped"     // the process does not run, as by SIGSTOP
	slept       kind = "slept"       // the machine does not run, nor its monotonic clock
	stepped     kind = "stepped"     // the date is wrong from here on
	edited      kind = "edited"      // another writer removes members of the Lease, or sets them to values without a meaning
	killed      kind = "killed"      // SIGKILL, and a new process at the end; for life in the same Pod
	terminated  kind = "ended"       // SIGTERM, and a new process at the end; for life of a new Pod
	evicted     kind = "evicted"     // for life: the Pod fails and stays
	lost        kind = "lost"        // for life: the node is away, and is taken out of service at the end
)

// fault is one fault of one machine.
type fault struct {
	kind    kind
	machine int
	interval
	by time.Duration
}

func (f fault) String() string {
	return fmt.Sprintf("m%d %s %.1fs-%.1fs by %s", f.machine, f.kind, f.from.Seconds(), f.to.Seconds(), f.by)
}

// plan is one random schedule of faults.
type plan struct {
	seed                uint64
	life                bool
	lease, renew, retry time.Duration
	rates               []float64 // of the machines' clocks
	faults              []fault
}

// over is when the last fault is over.
func (p plan) over() (at time.Duration) {
	for _, f := range p.faults {
		if f.kind != stepped {
			at = max(at, f.to)
		}
	}
	return max(at, 5*time.Second)
}

func (p plan) String() string {
	lines := make([]string, 0, len(p.faults))
	for _, f := range p.faults {
		lines = append(lines, "  "+f.String())
	}
	return fmt.Sprintf("seed %d, for life %v, clock rates %.3f:\n%s", p.seed, p.life, p.rates, strings.Join(lines, "\n"))
}

// randomPlan returns the plan of a seed. spread is how far clock rates differ from 1 at most.
func randomPlan(seed uint64, life bool, spread float64) plan {
	random := rand.New(rand.NewPCG(seed, 1))
	p := plan{seed: seed, life: life, lease: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second}
	kinds := []kind{partitioned, refused, unanswered, slowed, stopped, slept, stepped, edited, killed, terminated}
	if life {
		kinds = append(kinds, evicted, lost, killed, terminated)
	}
	machines := 2 + random.IntN(2)
	for range machines {
		p.rates = append(p.rates, 1+spread*(2*random.Float64()-1))
	}
	for range 1 + random.IntN(7) {
		from := time.Duration(random.Int64N(int64(50 * time.Second)))
		p.faults = append(p.faults, fault{
			kind: kinds[random.IntN(len(kinds))], machine: random.IntN(machines),
			interval: interval{from, from + time.Duration(random.Int64N(int64(30*time.Second)))},
			by:       time.Duration(random.Int64N(int64(12 * time.Second))),
		})
	}
	slices.SortFunc(p.faults, func(a, b fault) int { return int(a.from - b.from) })
	return p
}

// simulation runs a plan.
type simulation struct {
	plan     plan
	ctx      context.Context
	store    *store
	machines []*machine

	mu        sync.Mutex
	launched  int
	acted     int
	terms     int
	violation string // the first one
}

func (s *simulation) violates(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.violation == "" {
		s.violation = fmt.Sprintf("at %.3fs: ", s.machines[0].clock.true().Seconds()) + fmt.Sprintf(format, args...)
	}
}

// others are all processes but one.
func (s *simulation) others(than *process) []*process {
	var all []*process
	for _, m := range s.machines {
		m.mu.Lock()
		p := m.process
		m.mu.Unlock()
		if p != nil && p != than && !p.isDead() {
			all = append(all, p)
		}
	}
	return all
}

// workBegins checks the start of a term: no other replica's work may still run. Where a process or its
// machine was stopped shortly before, its work is told to stop only afterwards; it must not act.
func (s *simulation) workBegins(p *process) {
	s.mu.Lock()
	s.terms++
	s.mu.Unlock()
	if p.isDead() {
		return
	}
	for _, other := range s.others(p) {
		if other.works() && !other.machine.clock.wasStopped(20*time.Second) {
			s.violates("%s begins to lead while the work of %s still runs", p.options.Identity, other.options.Identity)
		}
	}
}

// bothAct is the violation that must not occur.
const bothAct = "may both act"

// workActs checks a write: no other replica may pass Check.
func (s *simulation) workActs(p *process) {
	if p.isDead() || p.Check() != nil {
		return
	}
	s.mu.Lock()
	s.acted++
	s.mu.Unlock()
	for _, other := range s.others(p) {
		if other.Check() == nil {
			s.violates("%s and %s "+bothAct, p.options.Identity, other.options.Identity)
		}
	}
}

// hasLeader reports whether a replica leads and may act.
func (s *simulation) hasLeader() bool {
	for _, p := range s.others(nil) {
		if p.Check() == nil {
			return true
		}
	}
	return false
}

// simulationResult is what happened in a simulation.
type simulationResult struct {
	wrong        string
	acted, terms int
}

// simulate runs a plan and returns the first violation, if any.
func simulate(t *testing.T, p plan) (result simulationResult) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, finish := context.WithCancel(t.Context())
		s := &simulation{plan: p, ctx: ctx, store: newStore()}
		began := time.Now()
		for i, rate := range p.rates {
			m := &machine{simulation: s, index: i, faults: map[kind][]fault{}, serial: make(chan struct{}, 1)}
			m.clock = &machineClock{began: began, rate: rate}
			for _, f := range p.faults {
				if f.machine == i {
					m.beginFault(f)
				}
			}
			slices.SortFunc(m.clock.sleeps, func(a, b interval) int { return int(a.from - b.from) })
			m.clock.wall = func(at time.Duration) (off time.Duration) {
				off = time.Duration(i) * 7 * time.Minute
				for _, f := range m.faults[stepped] {
					if at >= f.from {
						off += f.by - 6*time.Second
					}
				}
				return off
			}
			s.machines = append(s.machines, m)
		}
		for _, m := range s.machines {
			m.newPod()
			m.launch()
		}
		var strikes sync.WaitGroup
		for _, f := range p.faults {
			strikes.Go(func() { s.machines[f.machine].runFault(ctx, f) })
		}
		if p.life {
			go s.runGarbageCollector(ctx)
		}
		time.Sleep(p.over()) //nolint:forbidigo // in a bubble
		strikes.Wait()
		time.Sleep(s.grace()) //nolint:forbidigo // in a bubble
		if !s.hasLeader() {
			s.violates("no replica leads %s after the last fault was over", s.grace())
		}
		for _, m := range s.machines {
			m.kill()
		}
		finish()
		time.Sleep(10 * time.Minute) //nolint:forbidigo // everything ends, by timers of the bubble
		result = simulationResult{s.violation, s.acted, s.terms}
	})
	return result
}

// grace is the time after the last fault within which a replica must lead.
func (s *simulation) grace() time.Duration {
	slowest := slices.Min(s.plan.rates)
	// Without an event: the retry period and its jitter of a fifth.
	bound := s.plan.lease + s.plan.retry*6/5
	isEdited := slices.ContainsFunc(s.plan.faults, func(f fault) bool { return f.kind == edited }) // may end the term
	if s.plan.life && !isEdited {
		bound = s.plan.retry * 6 / 5
	}
	if s.plan.life {
		bound += 3 * time.Second // the garbage collector's time, and that of a new Pod
	}
	return time.Duration(float64(bound)/slowest) + 100*time.Millisecond
}

// beginFault applies a fault to the clock and the network. Two sleeps of one machine do not overlap: the
// second begins with the end of the first.
func (m *machine) beginFault(f fault) {
	m.faults[f.kind] = append(m.faults[f.kind], f)
	switch f.kind {
	case stopped:
		m.clock.stops = append(m.clock.stops, f.interval)
	case slept:
		span := f.interval
		for _, s := range m.clock.sleeps {
			span.from = max(span.from, s.to)
		}
		if span.from < span.to {
			m.clock.sleeps = append(m.clock.sleeps, span)
		}
	case lost: // its network goes with it
		m.faults[partitioned] = append(m.faults[partitioned], f)
	}
}

// runFault applies a fault to processes and Pods, one after the other.
func (m *machine) runFault(ctx context.Context, f fault) {
	switch f.kind {
	case edited:
		if sleep(ctx, f.from) {
			m.simulation.store.edit(uint64(f.by))
		}
		return
	case killed, terminated, evicted, lost:
	default:
		return
	}
	if !sleep(ctx, f.from) {
		return
	}
	m.serial <- struct{}{}
	defer func() { <-m.serial }()
	m.mu.Lock()
	pod, uid := m.pod, m.uid
	m.mu.Unlock()
	until := func() bool { return sleep(ctx, f.to-m.clock.true()) }
	switch f.kind {
	case killed:
		m.kill()
		until()
	case evicted:
		m.kill()
		m.simulation.store.setPod(pod, uid, func(pod *corev1.Pod) { pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted" })
		m.newPod()
		until()
	case terminated:
		m.clock.wake()
		now := metav1.NewTime(time.Now())
		m.simulation.store.setPod(pod, uid, func(pod *corev1.Pod) { pod.DeletionTimestamp = &now })
		if p := m.running(); p != nil {
			p.end()
			select {
			case <-p.gone:
			case <-time.After(time.Minute): // the kubelet's grace period
			}
		}
		m.kill()
		m.simulation.store.deletePod(pod)
		m.newPod()
		until()
	case lost: // it runs on without a network
		now := metav1.NewTime(time.Now())
		m.simulation.store.setPod(pod, uid, func(pod *corev1.Pod) {
			pod.DeletionTimestamp = &now
			pod.Status.Conditions[0].Status = corev1.ConditionFalse
		})
		until()
		// An administrator has switched the machine off, and taints the node: Kubernetes deletes its Pods.
		m.kill()
		m.simulation.store.deletePod(pod)
		m.newPod()
	}
	m.launch()
}

// runGarbageCollector is the garbage collector.
func (s *simulation) runGarbageCollector(ctx context.Context) {
	for sleep(ctx, 500*time.Millisecond) {
		s.store.collect(func() { sleep(ctx, 200*time.Millisecond) })
	}
}

// sleep is in a bubble, where no time passes.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
