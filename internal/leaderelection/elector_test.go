// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"
)

// replica is one elector that runs. Its work ends when finish is closed, after it was told to.
type replica struct {
	*Elector
	stop    context.CancelFunc
	working chan context.Context
	finish  chan error
	done    chan error
}

func options(s *server, clock *clocktesting.FakeClock, identity string) Options {
	return Options{
		Leases: s, Namespace: "fairlead-system", Name: "fairlead-manager", Identity: identity,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		DrainTimeout: 30 * time.Second, Clock: clock,
	}
}

func start(t *testing.T, o Options) *replica {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	r := &replica{Elector: e, stop: stop, working: make(chan context.Context, 1), finish: make(chan error, 1), done: make(chan error, 1)}
	go func() {
		r.done <- e.Run(ctx, func(ctx context.Context) error {
			r.working <- ctx
			<-ctx.Done()
			return <-r.finish
		})
	}()
	return r
}

func leads(t *testing.T, r *replica) context.Context {
	t.Helper()
	select {
	case ctx := <-r.working:
		return ctx
	case <-time.After(time.Minute):
		t.Fatalf("%s never leads: %s", r.options.Identity, r.Status())
		return nil
	}
}

func ends(t *testing.T, r *replica) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s never ends", r.options.Identity)
		return nil
	}
}

func newClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC))
}

func TestTheLeaseIsReleasedAfterTheWorkHasEndedAndRenewedUntilThen(t *testing.T) {
	s, clock := &server{}, newClock()
	r := start(t, options(s, clock, "a"))
	ctx := leads(t, r)
	if r.Check() != nil || s.holder() != "a" || !strings.Contains(r.Status(), "this replica") {
		t.Fatalf("check %v, holder %q, status %q", r.Check(), s.holder(), r.Status())
	}

	r.stop()
	<-ctx.Done()
	before := s.updated()
	clock.Step(2 * time.Second)
	eventually(t, "renewed while the work ends", func() bool { return s.updated() > before })
	if s.holder() != "a" {
		t.Fatalf("released while the work still runs")
	}

	r.finish <- nil
	if err := ends(t, r); err != nil {
		t.Fatal(err)
	}
	if s.holder() != "" || r.Check() == nil {
		t.Errorf("holder %q after release", s.holder())
	}
}

func TestAStandbyTakesAReleasedLeaseWithoutWaitingForAnyTimer(t *testing.T) {
	s, clock := &server{}, newClock()
	a := start(t, options(s, clock, "a"))
	leads(t, a)
	b := start(t, options(s, clock, "b"))
	eventually(t, "b watches", func() bool { return s.watched() == 1 })

	a.stop()
	a.finish <- nil
	if err := ends(t, a); err != nil {
		t.Fatal(err)
	}
	leads(t, b) // the clock never moved
	if s.holder() != "b" || *s.lease.Spec.LeaseTransitions != 1 {
		t.Errorf("holder %q, transitions %d", s.holder(), *s.lease.Spec.LeaseTransitions)
	}
}

func TestAStandbyTakesOverFromASilentLeaderWhenTheLeaseRunsOutAndNotBefore(t *testing.T) {
	s, clock := &server{}, newClock()
	lease := (&Elector{options: options(s, clock, "dead")}).lease()
	dead, err := New(options(s, clock, "dead"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dead.acquire(context.Background(), nil, 15); err != nil {
		t.Fatal(err)
	}
	b := start(t, options(s, clock, "b"))
	eventually(t, "b has seen "+lease, func() bool { return b.Status() == "dead" && s.watched() == 1 })

	clock.Step(15*time.Second - time.Millisecond)
	eventually(t, "b waits", clock.HasWaiters)
	if s.holder() != "dead" {
		t.Fatal("taken over before the Lease ran out")
	}
	clock.Step(time.Millisecond)
	leads(t, b)
}

// A candidate that observes the Lease while its caches are filled.
func TestTheTimeOfASilentLeaderCountsFromTheFirstObservation(t *testing.T) {
	const filling = 9 * time.Second
	for name, renews := range map[string]bool{"silent": false, "renewed meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			s, clock := &server{}, newClock()
			other, err := New(options(s, clock, "other"))
			if err != nil {
				t.Fatal(err)
			}
			held, err := other.acquire(t.Context(), nil, 15)
			if err != nil {
				t.Fatal(err)
			}
			e, err := New(options(s, clock, "b"))
			if err != nil {
				t.Fatal(err)
			}
			stop := e.Observe(t.Context())
			eventually(t, "b has seen the Lease", func() bool { return e.Status() == "other" && s.watched() == 1 })
			clock.Step(filling)
			left := 15*time.Second - filling
			if renews {
				if _, err := other.renew(t.Context(), *held); err != nil {
					t.Fatal(err)
				}
				seen := func() time.Time { e.mu.Lock(); defer e.mu.Unlock(); return e.observed.since }
				eventually(t, "b has seen the renewal", func() bool { return seen().Equal(clock.Now()) })
				left = 15 * time.Second
			}
			stop()
			ctx, cancel := context.WithCancel(t.Context())
			leading, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				ended <- e.Run(ctx, func(ctx context.Context) error { close(leading); <-ctx.Done(); return nil })
			}()
			eventually(t, "b follows the Lease again", func() bool { return s.watched() == 1 && clock.HasWaiters() })
			clock.Step(left - time.Millisecond)
			eventually(t, "b waits", clock.HasWaiters)
			if s.holder() != "other" {
				t.Fatal("taken over before the Lease ran out")
			}
			clock.Step(time.Millisecond)
			select {
			case <-leading:
			case <-time.After(time.Minute):
				t.Fatalf("it never leads: %s", e.Status())
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALeaderThatCannotRenewStopsAtTheDeadline(t *testing.T) {
	refuses := func(context.Context, string) error { return apierrors.NewInternalError(errors.New("etcd is gone")) }
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	hangs := func(context.Context, string) error { <-over; return errors.New("over") } // heeds no context either
	for name, broken := range map[string]func(context.Context, string) error{"refused": refuses, "hanging": hangs} {
		t.Run(name, func(t *testing.T) {
			s, clock := &server{}, newClock()
			r := start(t, options(s, clock, "a"))
			ctx := leads(t, r)
			eventually(t, "the deadline is set", func() bool { return clock.Waiters() >= 2 })
			s.setIntercept(broken)
			clock.Step(10*time.Second - time.Millisecond)
			if ctx.Err() != nil {
				t.Fatal("stopped before the deadline")
			}
			clock.Step(time.Millisecond)
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), ErrLost) || errors.Is(context.Cause(ctx), ErrTaken) || r.Check() == nil && s.holder() == "" {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			r.finish <- context.Canceled
			if err := ends(t, r); !errors.Is(err, ErrLost) || err.Error() != "leader election lost" {
				t.Errorf("error %v", err)
			}
			if s.holder() != "a" {
				t.Errorf("a lost Lease was touched: holder %q", s.holder())
			}
		})
	}
}

func TestWorkThatOutlivesALostLeaseMustEndWithTheProcess(t *testing.T) {
	s, clock := &server{}, newClock()
	r := start(t, options(s, clock, "a"))
	ctx := leads(t, r)
	eventually(t, "the deadline is set", func() bool { return clock.Waiters() >= 2 })
	s.setIntercept(func(context.Context, string) error { return apierrors.NewInternalError(errors.New("etcd is gone")) })
	clock.Step(10 * time.Second)
	<-ctx.Done()
	if err := r.Check(); !errors.Is(err, ErrNotLeading) {
		t.Errorf("it may still act: %v", err)
	}
	// 12.5 s after the last renewal, while others wait for 15.
	eventually(t, "the end is timed", clock.HasWaiters)
	eventually(t, "it gives up", func() bool {
		select {
		case err := <-r.done:
			r.done <- err
			return true
		default:
			if clock.Since(newClock().Now()) < 12500*time.Millisecond {
				clock.Step(100 * time.Millisecond)
			}
			return false
		}
	})
	err := ends(t, r)
	if !errors.Is(err, ErrLost) || !errors.Is(err, ErrStillRunning) || !strings.Contains(err.Error(), "the reconcilers still run 2.5s") {
		t.Errorf("error %v", err)
	}
	r.finish <- nil
}

// Go's clock stands still while a machine sleeps, and timers fire late in a process that was stopped.
func TestWhoHasSleptPastTheDeadlineMayNotActThoughNoTimerHasFired(t *testing.T) {
	s, clock := &server{}, newClock()
	o := options(s, clock, "a")
	var elapsed atomic.Int64
	o.Elapsed = func() time.Duration { return time.Duration(elapsed.Load()) }
	r := start(t, o)
	ctx := leads(t, r)
	elapsed.Store(int64(10*time.Second - 1))
	if err := r.Check(); err != nil {
		t.Errorf("before the deadline: %v", err)
	}
	elapsed.Store(int64(70 * time.Second))
	if err := r.Check(); !errors.Is(err, ErrNotLeading) || !strings.Contains(err.Error(), "1m0s ago") || ctx.Err() != nil {
		t.Errorf("after the sleep: %v", err)
	}
	// No other replica has taken the Lease meanwhile: the next renewal is as good as ever.
	eventually(t, "timers are set", func() bool { return clock.Waiters() >= 2 })
	clock.Step(2 * time.Second)
	eventually(t, "it may act again", func() bool { return r.Check() == nil })
	r.stop()
	r.finish <- nil
	if err := ends(t, r); err != nil || r.Check() == nil {
		t.Errorf("after the end: %v", err)
	}
}

func TestABidWhoseAnswerComesTooLateIsNoTerm(t *testing.T) {
	s, clock := &server{}, newClock()
	o := options(s, clock, "a")
	var elapsed atomic.Int64
	o.Elapsed = func() time.Duration { return time.Duration(elapsed.Load()) }
	s.setIntercept(func(_ context.Context, verb string) error {
		if verb == "create" {
			elapsed.Store(int64(11 * time.Second))
		}
		return nil
	})
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.acquire(t.Context(), nil, 15); err == nil || !strings.Contains(err.Error(), "11s after the request") {
		t.Errorf("error %v", err)
	}
}

func TestALeaderWhoseLeaseIsTakenStopsAtTheNextRenewal(t *testing.T) {
	s, clock := &server{}, newClock()
	r := start(t, options(s, clock, "a"))
	ctx := leads(t, r)
	eventually(t, "timers are set", func() bool { return clock.Waiters() >= 2 })
	s.edit(func(lease *coordinationv1.Lease) { *lease.Spec.HolderIdentity = "usurper" })
	clock.Step(2 * time.Second)
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, ErrLost) || !errors.Is(cause, ErrTaken) {
		t.Errorf("cause %v", cause)
	}
	r.finish <- nil
	if err := ends(t, r); !errors.Is(err, ErrLost) {
		t.Errorf("error %v", err)
	}
	if s.holder() != "usurper" {
		t.Errorf("holder %q", s.holder())
	}
}

func TestALeaderKeepsALeaseThatWasTouchedButNotTaken(t *testing.T) {
	for name, disturb := range map[string]func(*server){
		"labeled": func(s *server) {
			s.edit(func(lease *coordinationv1.Lease) { lease.Labels = map[string]string{"x": "y"} })
		},
		"deleted":        func(s *server) { s.mu.Lock(); s.lease = nil; s.mu.Unlock() },
		"an answer lost": func(s *server) { s.mu.Lock(); s.lose = true; s.mu.Unlock() },
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := &server{}, newClock()
			o := options(s, clock, "a")
			rounds := make(chan string, 100)
			o.Logger = funcr.New(func(_, line string) {
				if strings.Contains(line, "renew") {
					rounds <- line
				}
			}, funcr.Options{Verbosity: 3})
			r := start(t, o)
			ctx := leads(t, r)
			disturb(s)
			eventually(t, "timers are set", func() bool { return clock.Waiters() >= 2 })
			for round := range 8 { // 16 s, more than the Lease would last
				clock.Step(2 * time.Second)
				t.Log(<-rounds)
				if ctx.Err() != nil {
					t.Fatalf("lost in round %d", round)
				}
			}
			if s.holder() != "a" {
				t.Errorf("holder %q", s.holder())
			}
			r.stop()
			r.finish <- nil
			if err := ends(t, r); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWorkThatDoesNotEndLeavesTheLeaseToRunOut(t *testing.T) {
	s, clock := &server{}, newClock()
	o := options(s, clock, "a")
	o.DrainTimeout = 5 * time.Second
	r := start(t, o)
	ctx := leads(t, r)
	r.stop()
	<-ctx.Done()
	eventually(t, "deadline, renewal and drain are timed", func() bool { return clock.Waiters() >= 3 })
	clock.Step(5 * time.Second)
	if err := ends(t, r); err == nil || !strings.Contains(err.Error(), "still run") {
		t.Errorf("error %v", err)
	}
	if s.holder() != "a" {
		t.Errorf("released under work that still runs: holder %q", s.holder())
	}
}

func TestAnErrorOrAPanicOfTheWorkReleasesTheLease(t *testing.T) {
	broken := errors.New("cache broke")
	for name, work := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return broken },
		"panic": func(context.Context) error { panic(broken) }, //nolint:forbidigo // what it tests
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			e, err := New(options(s, newClock(), "a"))
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Run(context.Background(), work); err == nil || !strings.Contains(err.Error(), broken.Error()) {
				t.Errorf("error %v", err)
			}
			if s.lease == nil || s.holder() != "" {
				t.Errorf("not released: %v", s.lease)
			}
		})
	}
}

func TestTwoReplicasOfOneNameDoNotBothLead(t *testing.T) {
	s, clock := &server{}, newClock()
	a := start(t, options(s, clock, "same"))
	leads(t, a)
	b := start(t, options(s, clock, "same"))
	eventually(t, "b has seen the Lease", func() bool { return s.watched() == 1 })
	if b.Check() == nil {
		t.Fatal("both lead")
	}
	a.stop()
	a.finish <- nil
	if err := ends(t, a); err != nil {
		t.Fatal(err)
	}
	leads(t, b)
}
