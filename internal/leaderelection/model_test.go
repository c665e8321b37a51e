// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

var (
	modelSeed  = flag.Uint64("model-seed", 0, "play this schedule of the election's model only")
	modelCount = flag.Uint64("model-schedules", 100, "how many schedules of the election's model to play")
)

// cluster is an API server, and replicas whose processes end and start again, each with a Pod and a network of its own.
type cluster struct {
	*server
	life bool

	mu        sync.Mutex
	random    *rand.Rand
	machines  []*machine
	schedule  []string
	processes sync.WaitGroup // and requests that are on their way
	terms     int
}

func (c *cluster) chance(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

func (c *cluster) upTo(limit time.Duration) time.Duration { return time.Duration(c.chance(int(limit))) }

// machine is a network, and the process that runs there now.
type machine struct {
	*cluster
	name                                string
	uid                                 atomic.Int64 // of its Pod
	cut, losesAnswers, slow             atomic.Bool
	process                             atomic.Pointer[process]
	coordinationv1client.LeaseInterface // what is not overridden is not used, and panics
	corev1client.PodInterface
}

// process is one process. Once it is dead it sends nothing.
type process struct {
	*machine
	elector *Elector
	stop    context.CancelFunc
	dead    atomic.Bool
	works   atomic.Bool
}

// leases is a process's connection to the API server.
type leases struct {
	coordinationv1client.LeaseInterface
	*process
}

func (l leases) Leases(string) coordinationv1client.LeaseInterface { return l }

// send carries a request out, at once or later, and returns its answer unless that is lost.
func send[T any](ctx context.Context, p *process, request func() (T, error)) (T, error) {
	var none T
	if p.cut.Load() || p.dead.Load() {
		if p.chance(2) == 0 {
			<-ctx.Done()
			return none, ctx.Err()
		}
		return none, errors.New("connection refused")
	}
	delay := p.upTo(50 * time.Millisecond)
	if p.slow.Load() {
		delay = p.upTo(8 * time.Second)
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	p.processes.Go(func() {
		<-time.After(delay)
		value, err := request()
		<-time.After(p.upTo(delay + 1))
		if !p.losesAnswers.Load() {
			answers <- answer{value, err}
		}
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (l leases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return send(ctx, l.process, func() (*coordinationv1.Lease, error) { return l.server.Get(context.Background(), name, o) })
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return send(ctx, l.process, func() (*coordinationv1.Lease, error) { return l.server.Create(context.Background(), lease, o) })
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return send(ctx, l.process, func() (*coordinationv1.Lease, error) { return l.server.Update(context.Background(), lease, o) })
}

// podsOf reads Pods for a process.
type podsOf struct {
	corev1client.PodInterface
	*process
}

func (p podsOf) Pods(string) corev1client.PodInterface { return p }

func (p podsOf) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	return send(ctx, p.process, func() (*corev1.Pod, error) {
		for _, m := range p.machines {
			if uid := m.uid.Load(); m.name == name && uid != 0 {
				return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint(uid))}}, nil
			}
		}
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	})
}

// run runs one process after the other until the machine has none to start.
func (m *machine) run(ctx context.Context, t *testing.T) {
	for life := 0; ctx.Err() == nil; life++ {
		p := &process{machine: m}
		o := options(m.server, fmt.Sprintf("%s-%d", m.name, life))
		o.Leases = leases{process: p}
		if m.life {
			o.Life = &Life{Pods: podsOf{process: p}, Pod: m.name}
		}
		var err error
		if p.elector, err = New(o); err != nil {
			t.Error(err)
			return
		}
		var process context.Context
		process, p.stop = context.WithCancel(ctx)
		m.process.Store(p)
		_ = p.elector.Run(process, func(ctx context.Context) error {
			m.mu.Lock()
			m.terms++
			m.mu.Unlock()
			p.works.Store(true)
			defer p.works.Store(false)
			<-ctx.Done()
			<-time.After(m.upTo(4 * time.Second)) // longer than a lost Lease leaves
			return nil
		})
		p.dead.Store(true)
		p.stop()
		<-time.After(m.upTo(5 * time.Second))
	}
}

// disturb does one thing that happens, and says what.
func (c *cluster) disturb() string {
	m := c.machines[c.chance(len(c.machines))]
	p, span := m.process.Load(), c.upTo(20*time.Second)
	during := func(what string, on *atomic.Bool) string {
		on.Store(true)
		c.processes.Go(func() { <-time.After(span); on.Store(false) })
		return fmt.Sprintf("%s %s for %s", m.name, what, span)
	}
	switch c.chance(7) {
	case 0:
		return during("is cut off", &m.cut)
	case 1:
		return during("gets no answers", &m.losesAnswers)
	case 2:
		return during("is slow", &m.slow)
	case 3:
		p.stop()
		return m.name + " receives a signal to stop"
	case 4:
		p.dead.Store(true)
		p.stop() // so that the next one starts; nothing of this one arrives
		return m.name + " is killed"
	case 5:
		if !c.life {
			return "nothing"
		}
		p.dead.Store(true)
		p.stop()
		gone := m.uid.Swap(m.uid.Load() + 1)
		c.edit(func(*coordinationv1.Lease) {})
		c.server.mu.Lock()
		if l := c.lease; l != nil && len(l.OwnerReferences) == 1 && l.OwnerReferences[0].UID == types.UID(fmt.Sprint(gone)) {
			c.lease = nil // as the garbage collector does
		}
		c.server.mu.Unlock()
		return m.name + "'s Pod is replaced"
	default:
		bits := c.chance(64)
		c.edit(func(l *coordinationv1.Lease) {
			for i, falsify := range []func(*coordinationv1.LeaseSpec){
				func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = nil },
				func(s *coordinationv1.LeaseSpec) { s.RenewTime = nil },
				func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = nil },
				func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = nil },
				func(s *coordinationv1.LeaseSpec) { s.AcquireTime = nil },
			} {
				if bits>>i&1 == 1 {
					falsify(&l.Spec)
				}
			}
		})
		return fmt.Sprintf("the Lease is edited: %b", bits)
	}
}

// acting returns who may act, and whose work runs.
func (c *cluster) acting() (check, work []string) {
	for _, m := range c.machines {
		p := m.process.Load()
		if p == nil || p.dead.Load() {
			continue
		}
		if p.elector.Check() == nil {
			check = append(check, m.name)
		}
		if p.works.Load() {
			work = append(work, m.name)
		}
	}
	return check, work
}

// play plays a schedule, and returns what went wrong, and how many terms there were.
func play(t *testing.T, seed uint64, life bool) (wrong string, terms int) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{server: &server{}, life: life, random: rand.New(rand.NewPCG(seed, 0))}
		ctx, end := context.WithCancel(context.Background())
		for i := range 3 {
			m := &machine{cluster: c, name: string(rune('a' + i))}
			m.uid.Store(int64(1000 * (i + 1)))
			c.machines = append(c.machines, m)
		}
		for _, m := range c.machines {
			c.processes.Go(func() { m.run(ctx, t) })
		}
		watch := func(span time.Duration) (led bool) {
			for until := time.Now().Add(span); wrong == "" && time.Now().Before(until); {
				pass(20*time.Millisecond + c.upTo(60*time.Millisecond))
				check, work := c.acting()
				if len(check) > 1 || len(work) > 1 {
					wrong = fmt.Sprintf("%v may act, and %v work, at %s after %q", check, work, time.Now().Format("05.000"), c.schedule)
				}
				led = led || len(check) > 0
			}
			return led
		}
		for range 12 {
			watch(c.upTo(15 * time.Second))
			c.schedule = append(c.schedule, time.Now().Format("04:05.000 ")+c.disturb())
		}
		watch(20 * time.Second) // until every fault is over
		if !watch(35*time.Second) && wrong == "" {
			wrong = fmt.Sprintf("none leads after %q", c.schedule)
		}
		terms = c.terms
		end()
		c.processes.Wait()
	})
	return wrong, terms
}

func TestNoTwoReplicasActAtOneInstantAndOneLeadsOnceTheFaultsAreOver(t *testing.T) {
	for name, life := range map[string]bool{"lease": false, "for life": true} {
		t.Run(name, func(t *testing.T) {
			total := 0
			for seed := range *modelCount {
				if *modelSeed != 0 && *modelSeed != seed {
					continue
				}
				wrong, terms := play(t, seed, life)
				if wrong != "" {
					t.Fatalf("%s\nagain: go test -run '%s' -model-seed=%d", wrong, t.Name(), seed)
				}
				total += terms
			}
			t.Logf("%d schedules, %d terms", *modelCount, total)
			if *modelSeed == 0 && total < 2*int(*modelCount) {
				t.Errorf("too little happens: %d terms", total)
			}
		})
	}
}
