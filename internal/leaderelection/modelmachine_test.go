// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// machine runs a replica, with its clock and its network. Its processes, and for life also its Pods, are
// replaced.
type machine struct {
	simulation *simulation
	index      int
	clock      *machineClock
	// faults of its network and its life, by kind.
	faults map[kind][]fault
	serial chan struct{} // serializes what happens to its processes

	mu       sync.Mutex // guards what follows
	pod      string
	uid      types.UID
	podCount int // Pods so far
	process  *process
}

// process is one run of the operator.
type process struct {
	*Elector
	machine *machine
	end     context.CancelFunc // as SIGTERM
	gone    chan struct{}

	mu      sync.Mutex
	dead    bool // it has no effect any more, whatever its goroutines do
	working bool
}

var errNetwork = errors.New("the network is broken")

// faultAt returns the active fault of a kind.
func (m *machine) faultAt(k kind, at time.Duration) (fault, bool) {
	for _, f := range m.faults[k] {
		if f.holds(at) {
			return f, true
		}
	}
	return fault{}, false
}

// roundTrip is a request and its response. It takes a while, is lost or delayed by faults, and may be applied
// long after its sender has given up or died. It returns when the process runs.
func roundTrip[T any](ctx context.Context, m *machine, apply func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		var none T
		time.Sleep(time.Millisecond) //nolint:forbidigo // in a bubble
		now := m.clock.true()
		if cut, ok := m.faultAt(partitioned, now); ok {
			time.Sleep(cut.to - now) //nolint:forbidigo // in a bubble
			answers <- answer{none, errNetwork}
			return
		}
		if _, ok := m.faultAt(refused, now); ok {
			answers <- answer{none, errNetwork}
			return
		}
		if slow, ok := m.faultAt(slowed, now); ok {
			time.Sleep(min(slow.by, slow.to-now)) //nolint:forbidigo // in a bubble
		}
		value, err := apply()
		now = m.clock.true()
		if lost, ok := m.faultAt(unanswered, now); ok {
			time.Sleep(lost.to - now) //nolint:forbidigo // in a bubble
			answers <- answer{none, errNetwork}
			return
		}
		if slow, ok := m.faultAt(slowed, now); ok {
			time.Sleep(min(slow.by, slow.to-now)) //nolint:forbidigo // in a bubble
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // in a bubble
		answers <- answer{value, err}
	}()
	select {
	case got := <-answers:
		m.clock.wake()
		return got.value, got.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// stream is a watch. In a partition it gets no events, and ends with the partition.
type stream struct {
	events chan watch.Event
	stop   context.CancelFunc
}

func (s *stream) ResultChan() <-chan watch.Event { return s.events }
func (s *stream) Stop()                          { s.stop() }

func (m *machine) watch(ctx context.Context, from string) watch.Interface {
	ctx, stop := context.WithCancel(ctx)
	s := &stream{events: make(chan watch.Event), stop: stop}
	store := m.simulation.store
	store.mu.Lock()
	next := len(store.history)
	var first *coordinationv1.Lease
	if version, err := strconv.Atoi(from); err == nil {
		next = version
	} else {
		first = store.lease
	}
	store.mu.Unlock()
	go func() {
		defer close(s.events)
		if first != nil && !m.deliver(ctx, s, watch.Event{Type: watch.Added, Object: first.DeepCopy()}) {
			return
		}
		for {
			store.mu.Lock()
			changed := store.changed
			var event *watch.Event
			if next < len(store.history) {
				event = store.history[next].DeepCopy()
			}
			store.mu.Unlock()
			if event != nil {
				next++
				if !m.deliver(ctx, s, *event) {
					return
				}
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}()
	return s
}

func (m *machine) deliver(ctx context.Context, s *stream, event watch.Event) bool {
	time.Sleep(time.Millisecond) //nolint:forbidigo // in a bubble
	now := m.clock.true()
	for _, k := range []kind{partitioned, refused, unanswered} {
		if cut, ok := m.faultAt(k, now); ok {
			time.Sleep(cut.to - now) //nolint:forbidigo // in a bubble
			return false
		}
	}
	if slow, ok := m.faultAt(slowed, now); ok {
		time.Sleep(min(slow.by, slow.to-now)) //nolint:forbidigo // in a bubble
	}
	m.clock.wake()
	select {
	case <-ctx.Done():
		return false
	case s.events <- event:
		return true
	}
}

// launch starts another process on the machine, which takes part in the election until it dies.
func (m *machine) launch() {
	w := m.simulation
	w.mu.Lock()
	w.launched++
	number := w.launched
	w.mu.Unlock()
	m.mu.Lock()
	pod, uid := m.pod, m.uid
	m.mu.Unlock()
	o := Options{
		Leases: leaseClient{m: m}, Namespace: "fairlead-system", Name: "fairlead-manager", Identity: fmt.Sprintf("m%d-p%d", m.index, number),
		LeaseDuration: w.plan.lease, RenewDeadline: w.plan.renew, RetryPeriod: w.plan.retry, DrainTimeout: time.Minute,
		Clock: m.clock, Elapsed: m.clock.elapsed,
	}
	if w.plan.life {
		o.Life = &Life{Pods: podClient{m: m}, Pod: pod, UID: uid}
	}
	e, err := New(o)
	if err != nil {
		w.violates("options: %v", err)
		return
	}
	e.wallClock = m.clock.date
	stopping, end := context.WithCancel(w.ctx)
	p := &process{Elector: e, machine: m, end: end, gone: make(chan struct{})}
	m.mu.Lock()
	if w.ctx.Err() == nil {
		m.process = p
	}
	m.mu.Unlock()
	go p.run(stopping)
}

func (p *process) run(ctx context.Context) {
	defer close(p.gone)
	defer p.end()
	for ctx.Err() == nil {
		if plan := p.machine.simulation.plan; p.machine.index%2 == 0 && !plan.life { // it fills its caches first
			stop := p.Observe(ctx)
			sleep(ctx, plan.lease/2)
			stop()
		}
		err := p.Run(ctx, p.lead)
		if p.isDead() {
			return
		}
		if errors.Is(err, ErrStillRunning) || !errors.Is(err, ErrLost) {
			// The process ends, and usually the kubelet starts it again.
			p.kill()
			if sleep(ctx, time.Second) && p.machine.running() == p {
				p.machine.launch()
			}
			return
		}
	}
	p.kill()
}

// running is the process that was started last; nil where it was killed.
func (m *machine) running() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process
}

// kill sends SIGKILL. The goroutines end too, but have no effect any more.
func (m *machine) kill() {
	m.mu.Lock()
	p := m.process
	m.process = nil
	m.mu.Unlock()
	if p != nil {
		p.kill()
		p.end()
	}
}

// kill makes the process have no effect from now on.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) setWorking(working bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working = working
}

func (p *process) works() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.working && !p.dead
}

// lead acts repeatedly, as reconcilers do, and takes a while to end.
func (p *process) lead(ctx context.Context) error {
	w := p.machine.simulation
	w.workBegins(p)
	p.setWorking(true)
	defer p.setWorking(false)
	random := rand.New(rand.NewPCG(w.plan.seed, uint64(p.machine.clock.true())))
	for ctx.Err() == nil {
		p.machine.clock.wake()
		w.workActs(p)
		timer := p.machine.clock.NewTimer(time.Duration(random.Int64N(int64(time.Second))))
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
	// Work does not stop at once, and some of it not in time.
	for range random.IntN(5) {
		w.workActs(p)
		pause := p.machine.clock.NewTimer(time.Duration(random.Int64N(int64(p.options.LossTimeout) / 2)))
		select {
		case <-w.ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C():
		}
	}
	w.workActs(p)
	return nil
}

// newPod replaces the machine's Pod.
func (m *machine) newPod() {
	m.mu.Lock()
	m.podCount++
	m.pod, m.uid = fmt.Sprintf("pod-%d-%d", m.index, m.podCount), types.UID(fmt.Sprintf("uid-%d-%d", m.index, m.podCount))
	name, uid := m.pod, m.uid
	m.mu.Unlock()
	m.simulation.store.setPod(name, uid, func(*corev1.Pod) {})
}
